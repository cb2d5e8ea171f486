/** Two COPYs at once: the error of one is reported only when both have ended. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { copyLine, type Item } from '../../../src/imports/entries/item.ts';
import { openCopyWriter } from '../../../src/imports/intake/copy.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

/** A COPY ends when it is larger than this. */
const MAX_BYTES = 16 * 2 ** 20;
let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'copy' });
  await db.pool.query(`create function at_commit() returns trigger language plpgsql as $$ begin
    if new.user_name = 'refused' then raise exception 'refused at commit'; end if;
    perform pg_sleep(0.3);
    return null; end $$`);
  await db.pool.query(`create constraint trigger at_commit after insert on import_items
    deferrable initially deferred for each row execute function at_commit()`);
});
after(() => db.drop());

function row(ordinal: number, userName: string, size: number): Buffer {
  const error = { code: 3, message: 'x'.repeat(size), details: [] };
  const item = { state: 'failed', userId: null, userName, error, entrySealed: null } as unknown as Item;
  return Buffer.from(copyLine('7', ordinal, 0, false, item));
}

it('a flush reports an error only after later rows are committed, so that the cleanup removes all of them', async () => {
  const writer = openCopyWriter(db.pool, async () => {});
  await writer.write(row(0, 'refused', MAX_BYTES + 1));
  await writer.write(row(1, 'slow', 10));
  await assert.rejects(writer.flush(), /refused at commit/);
  const { rows } = await db.pool.query('select ordinal from import_items');
  assert.deepEqual(rows, [{ ordinal: 1 }]);
});

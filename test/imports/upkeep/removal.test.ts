/** When ended imports are removed, and what remains. The tests simulate time by setting timestamps back. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelImport, releaseMails } from '../../../src/imports/control/control.ts';
import { undoImport } from '../../../src/imports/control/undo.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { listImports, readProgress } from '../../../src/imports/status/progress.ts';
import { eraseRound, removeRound } from '../../../src/imports/upkeep/retention.ts';
import { claimDue } from '../../../src/messages/mail/outbox.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptImport,
  addOrgs,
  entries,
  importRow,
  openWriterPool,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const DAY = 86_400_000;
const PAST = (days: number) => `clock_timestamp() - interval '${days} days'`;

describe('the removal of old imports', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'removal' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const remove = async (days = 365) => {
    while (await removeRound(db.pool, days * DAY));
  };
  const rowsOf = async (table: string) => (await db.pool.query(`select from ${table}`)).rowCount ?? 0;
  /** Two users who get a mail, written by an import that ended `days` ago. */
  async function ended(days: number, columns = {}): Promise<string> {
    const id = await acceptImport(db.pool, entries(2, { email: { email: 'a@example.com' } }));
    await writeBatch(writer, id, [0, 1], { codeTtlMs: 1000 });
    await setImport(db.pool, id, { finished_at: PAST(days), ...columns });
    while (await eraseRound(db.pool, DAY));
    return id;
  }

  it('takes their items, results and organizations, and leaves their users and events', async () => {
    const id = await ended(366);
    await remove();
    assert.deepEqual([await rowsOf('imports'), await rowsOf('import_items'), await rowsOf('import_orgs')], [0, 0, 0]);
    assert.equal(await rowsOf('users'), 2);
    const { rows } = await db.pool.query(
      `select type, editor from events where aggregate_type = 'import' and aggregate_id = $1 order by sequence`,
      [id],
    );
    assert.deepEqual(
      rows.map(({ type }) => type),
      ['import.accepted', 'import.erased', 'import.removed'],
    );
  });

  it('leaves imports that ended later, were not erased, or have not ended', async () => {
    await ended(364);
    await wipeUsers();
    await ended(366, { state: `'paused'` });
    await wipeUsers();
    const id = await acceptImport(db.pool, entries(1));
    await cancelImport(db.pool, ADMIN, id);
    await setImport(db.pool, id, { finished_at: PAST(366) });
    await remove();
    assert.equal(await rowsOf('imports'), 3);
  });
  const wipeUsers = () => db.pool.query('delete from users');

  it('leaves an import for a day in any case, as a request may be repeated with its key', async () => {
    await ended(2, { finished_at: `clock_timestamp() - interval '24 hours 30 minutes'` });
    await remove(0);
    assert.equal(await rowsOf('imports'), 1);
  });

  it('drops the mails that were held, so that nothing sends them', async () => {
    await ended(366, { mails: `'held'` });
    assert.equal(await rowsOf('mail_outbox'), 2);
    await remove();
    assert.deepEqual([await rowsOf('imports'), await rowsOf('mail_outbox')], [0, 0]);
    assert.deepEqual(await claimDue(db.pool, 10, { handOverMs: 1000 }), []);
  });

  it('of a large import goes in batches, by any number of processes; nobody sees it meanwhile', async () => {
    const total = 5000;
    const id = await acceptImport(db.pool, Array(total).fill(null));
    await setImport(db.pool, id, { finished_at: PAST(366) });
    while (await eraseRound(db.pool, DAY));
    await removeRound(db.pool, 365 * DAY);
    const begun = await rowsOf('import_items');
    assert.ok(begun > 0 && begun < total, `${begun}`);
    assert.equal(await readProgress(db.pool, id), undefined);
    assert.deepEqual(await listImports(db.pool, { within: undefined, pageSize: 10, before: undefined }), []);
    assert.equal((await importRow(db.pool, id)).state, 'completed_with_errors');
    const gone = { id: 'IMPORT-NOT-FOUND', http: 404 };
    await assert.rejects(undoImport(db.pool, ADMIN, id), gone);
    await assert.rejects(releaseMails(db.pool, ADMIN, id), gone);
    await Promise.all([remove(), remove(), remove()]);
    assert.deepEqual([await rowsOf('imports'), await rowsOf('import_items')], [0, 0]);
  });
});

/** What data imports keep, and for how long. The tests simulate time by setting timestamps back. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelImport, pauseImport, resumeImport, retryImport } from '../../../src/imports/control/control.ts';
import { undoImport, undoRound } from '../../../src/imports/control/undo.ts';
import { PAYLOAD } from '../../../src/imports/entries/item.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readItems } from '../../../src/imports/status/items.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { eraseRound } from '../../../src/imports/upkeep/retention.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptImport,
  addAdmin,
  addOrgs,
  entry,
  importRow,
  itemRows,
  openWriterPool,
  type Row,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const HOUR = 3_600_000;
const LONG_AGO = `clock_timestamp() - interval '61 minutes'`;
const RECENT = `clock_timestamp() - interval '59 minutes'`;
const FULL = {
  phone: { phone: '+41791234567' },
  metadata: [{ key: 'k', value: 'QUJD' }],
  idps: [{ configId: 'c', externalUserId: 'e', displayName: '' }],
  otpCode: 'JBSWY3DPEHPK3PXP',
};
const PLAIN = { ...FULL, hashedPassword: undefined, password: 'plain' };

describe('the payload of an import', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'retention' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  /** Two items written, one with a conflict, one invalid, two pending. */
  beforeEach(async () => {
    await wipe(db.pool);
    await addAdmin(db.pool);
    const users = [entry('a', FULL), entry('b'), entry('a', FULL), { user: FULL }, entry('d', PLAIN), entry('e')];
    importId = await acceptImport(db.pool, users);
    await settle([0, 1]);
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const settle = (ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: 1000 });
  const erase = () => eraseRound(db.pool, HOUR);
  const cancel = (at: string) =>
    cancelImport(db.pool, ADMIN, importId).then(() => setImport(db.pool, importId, { finished_at: at }));
  const payloadOf = (item: Row | undefined) => PAYLOAD.filter((column) => item?.[column] !== null);
  async function held(): Promise<number[]> {
    return (await itemRows(db.pool, importId)).flatMap((item, i) => (payloadOf(item).length > 0 ? [i] : []));
  }
  async function seen() {
    const progress = (await readProgress(db.pool, importId)) ?? assert.fail();
    const { items } = await readItems(db.pool, progress, { pageSize: 100, from: 0 });
    return { counts: progress.counts, orgs: progress.orgs, state: progress.state, items };
  }

  it('is erased at once, in every column, for users that were written, and kept for all others', async () => {
    assert.deepEqual(await held(), [2, 3, 4, 5]);
    const { rows } = await db.pool.query(
      `select column_name from information_schema.columns where table_name = 'import_items'`,
    );
    const kept = rows.map((r) => r.column_name).filter((c) => !(PAYLOAD as readonly string[]).includes(c));
    assert.deepEqual(
      kept.filter((c) => !['import_id', 'ordinal', 'org_index', 'maybe_duplicate'].includes(c)).sort(),
      ['changed', 'changed_by', 'error', 'kept', 'links', 'sign_in', 'state', 'user_id', 'user_name'],
      'what remains is ids, outcomes and how users sign in',
    );
  });

  it('is kept for the retention time after the end; then only ids and outcomes remain', async () => {
    await cancel(RECENT);
    await erase();
    assert.deepEqual(await held(), [2, 3, 4, 5]);
    const before = await seen();
    await setImport(db.pool, importId, { finished_at: LONG_AGO });
    assert.equal(await erase(), true);
    assert.deepEqual(await held(), []);
    assert.deepEqual(await seen(), before);
    assert.deepEqual([before.counts.cancelled, before.counts.failed, before.counts.succeeded], [2, 2, 2]);
    assert.equal(await erase(), false);
    const { rows } = await db.pool.query(
      `select type, editor from events where aggregate_type = 'import' and aggregate_id = $1 order by sequence desc`,
      [importId],
    );
    assert.deepEqual(rows[0], { type: 'import.erased', editor: 'system' });
  });

  it('once erased, allows neither resume nor retry, but still undo', async () => {
    await cancel(LONG_AGO);
    await erase();
    const erased = { id: 'IMPORT-ERASED', status: 'FAILED_PRECONDITION' };
    await assert.rejects(resumeImport(db.pool, ADMIN, importId, { timeout: '1h', max: '24h' }), erased);
    await assert.rejects(retryImport(db.pool, ADMIN, importId, { timeout: '1h', max: '24h' }), erased);
    assert.equal((await importRow(db.pool, importId)).state, 'cancelled');
    await undoImport(db.pool, ADMIN, importId);
    await undoRound(db.pool, 100);
    const { counts, state } = await seen();
    assert.deepEqual([state, counts.undone, counts.cancelled], ['IMPORT_STATE_UNDONE', 2, 2]);
  });

  it('is kept while the import runs, is paused, or was resumed in time', async () => {
    await setImport(db.pool, importId, { changed_at: LONG_AGO });
    await erase();
    await pauseImport(db.pool, ADMIN, importId);
    await setImport(db.pool, importId, { paused_at: LONG_AGO });
    await erase();
    await cancel(LONG_AGO);
    await resumeImport(db.pool, ADMIN, importId, { timeout: '1h', max: '24h' });
    await erase();
    assert.deepEqual(await held(), [2, 3, 4, 5]);
    await db.pool.query(`update import_items set password_hash = 'x', password_sealed = null where ordinal = 4`);
    assert.equal(await settle([4, 5]), 2);
    assert.deepEqual(await held(), [2, 3]);
  });

  it('of a large import is erased in batches, by any number of processes', async () => {
    const total = 5000;
    importId = await acceptImport(db.pool, Array(total).fill(null));
    await setImport(db.pool, importId, { finished_at: LONG_AGO });
    await erase();
    const begun = (await held()).length;
    assert.ok(begun > 0 && begun < total);
    const hand = async () => {
      while (await erase());
    };
    await Promise.all([hand(), hand(), hand()]);
    assert.deepEqual(await held(), []);
    const { counts } = (await readProgress(db.pool, importId)) ?? assert.fail();
    assert.deepEqual([counts.failed, counts.total], [total, total]);
  });

  it('of single imports is deleted with the whole import, a day after its end', async () => {
    const single = async (finishedAt: string) => {
      const id = await acceptImport(db.pool, [entry('s')]);
      await setImport(db.pool, id, { kind: `'single'`, state: `'succeeded'`, finished_at: finishedAt });
      return id;
    };
    const old = await single(`clock_timestamp() - interval '26 hours'`);
    const fresh = await single(`clock_timestamp() - interval '24 hours'`);
    const running = await single('null');
    await erase();
    const { rows } = await db.pool.query(
      `select i.id, (select count(*)::int from import_items t where t.import_id = i.id) as items
       from imports i where kind = 'single' order by i.id`,
    );
    assert.deepEqual(rows, [
      { id: fresh, items: 1 },
      { id: running, items: 1 },
    ]);
    const left = await db.pool.query('select from import_items where import_id = $1', [old]);
    assert.equal(left.rowCount, 0);
  });
});

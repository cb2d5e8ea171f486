import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { expireDue, expireImport } from '../../../src/imports/upkeep/rescue.ts';
import { type Pool, transaction } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  importRow,
  itemRows,
  openWriterPool,
  setImport,
  wipe,
  writerWaits,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const PAST = { deadline: `clock_timestamp() - interval '1 millisecond'` };

describe('the deadline', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'deadline' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  async function stateOf(importId: string): Promise<string> {
    return (await importRow(db.pool, importId)).state;
  }

  it('counts from acceptance', async () => {
    const importId = await acceptImport(db.pool, entries(1), { timeout: '1h30m0.5s' });
    const { rows } = await db.pool.query(
      'select extract(epoch from deadline - accepted_at)::float8 as s, timeout from imports where id = $1',
      [importId],
    );
    assert.ok(Math.abs(rows[0].s - 5400.5) < 0.05, rows[0].s);
    assert.equal(rows[0].timeout, '1h30m0.5s');
  });

  it('ends the imports whose deadline has passed, and no others', async () => {
    const due = [await acceptImport(db.pool, entries(2)), await acceptImport(db.pool, entries(2))];
    for (const importId of due) await setImport(db.pool, importId, PAST);
    const running = await acceptImport(db.pool, entries(2));
    const others: [string, string][] = [];
    for (const state of [
      'receiving',
      'paused',
      'undoing',
      'succeeded',
      'completed_with_errors',
      'cancelled',
      'undone',
    ]) {
      const importId = await acceptImport(db.pool, entries(2));
      await setImport(db.pool, importId, { ...PAST, state: `'${state}'` });
      others.push([importId, state]);
    }
    assert.equal(await expireDue(db.pool), 2);
    for (const importId of due) {
      const { state, finished_at } = await importRow(db.pool, importId);
      assert.deepEqual([state, finished_at instanceof Date], ['timed_out', true]);
      const items = await itemRows(db.pool, importId);
      assert.ok(
        items.every((i) => i.state === 'pending'),
        'never written to the items',
      );
    }
    assert.equal(await stateOf(running), 'running');
    for (const [importId, state] of others) assert.equal(await stateOf(importId), state);
    assert.equal(await expireDue(db.pool), 0);
  });

  it('ends an import once, whichever process is first', async () => {
    const importId = await acceptImport(db.pool, entries(1));
    await setImport(db.pool, importId, PAST);
    const ended = await Promise.all([1, 2, 3, 4].map(() => expireImport(db.pool, importId)));
    assert.equal(ended.filter(Boolean).length, 1);
  });

  it('is enforced by every reader: no process has to be alive at the deadline', async () => {
    const importId = await acceptImport(db.pool, entries(2));
    await setImport(db.pool, importId, PAST);
    assert.equal((await readProgress(db.pool, importId))?.state, 'IMPORT_STATE_TIMED_OUT');
    assert.equal(await stateOf(importId), 'timed_out');
  });

  it('waits for a commit in progress, which still counts', async () => {
    const importId = await acceptImport(db.pool, entries(2));
    let read: Promise<unknown> | undefined;
    await transaction(db.pool, async (tx) => {
      assert.equal(await writeBatch(tx as unknown as Pool, importId, [0], { codeTtlMs: 1000 }), 1);
      // The transaction holds the row's lock, so it must move the deadline itself.
      await tx.query(`update imports set deadline = clock_timestamp() where id = $1`, [importId]);
      read = expireImport(writer, importId);
      await waitFor(() => writerWaits(db.pool), { what: 'the deadline to wait for the batch' });
    });
    assert.equal(await read, true);
    const { counts } = (await readProgress(db.pool, importId)) ?? assert.fail();
    assert.deepEqual([counts.succeeded, counts.timedOut, counts.pending], [1, 1, 0]);
  });

  it('does not change an import that ended at the same moment', async () => {
    const importId = await acceptImport(db.pool, entries(1));
    let ended: Promise<boolean> | undefined;
    await transaction(db.pool, async (tx) => {
      await writeBatch(tx as unknown as Pool, importId, [0], { codeTtlMs: 1000 });
      await tx.query(`update imports set deadline = clock_timestamp() where id = $1`, [importId]);
      ended = expireImport(writer, importId);
      await waitFor(() => writerWaits(db.pool), { what: 'the deadline to wait for the batch' });
    });
    assert.equal(await ended, false);
    assert.equal(await stateOf(importId), 'succeeded');
  });
});

/** Nothing is written for an import that does not run, whichever worker holds its jobs and however late it wakes up. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelImport } from '../../../src/imports/control/control.ts';
import { batchStore } from '../../../src/imports/run/stores.ts';
import { NOT_RUNNING, writeBatch } from '../../../src/imports/run/write-batch.ts';
import { expireImport } from '../../../src/imports/upkeep/rescue.ts';
import { type Pool, transaction } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptImport,
  addOrgs,
  entries,
  importRow,
  itemRows,
  openWriterPool,
  setImport,
  tableCounts,
  wipe,
  writerWaits,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const NOTHING = { users: 0, events: 0, metadata: 0, links: 0, codes: 0, mails: 0 };
const STATES = [
  'receiving',
  'paused',
  'undoing',
  'succeeded',
  'completed_with_errors',
  'timed_out',
  'cancelled',
  'undone',
];

describe('the guard of a batch', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'guard' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    importId = await acceptImport(db.pool, entries(3, { email: { email: 'a@b.c' } }));
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const write = () => writeBatch(writer, importId, [0, 1, 2], { codeTtlMs: 1000 });
  const isNotRunning = (error: { code?: string }) => error.code === NOT_RUNNING;
  async function assertUntouched() {
    assert.deepEqual(await tableCounts(db.pool), NOTHING);
    const items = await itemRows(db.pool, importId);
    assert.deepEqual(
      items.map((i) => [i.state, i.error, i.email]),
      Array(3).fill(['pending', null, 'a@b.c']),
    );
    const { succeeded, failed, mails_due } = await importRow(db.pool, importId);
    assert.deepEqual([succeeded, failed, mails_due], [0, 0, 0]);
  }

  for (const state of STATES) {
    it(`lets nothing through when the import is ${state}`, async () => {
      await setImport(db.pool, importId, { state: `'${state}'` });
      await assert.rejects(write(), isNotRunning);
      await assertUntouched();
    });
  }

  it('lets nothing through after the deadline, even if the import has not been ended yet', async () => {
    await setImport(db.pool, importId, { deadline: 'clock_timestamp()' });
    await assert.rejects(write(), isNotRunning);
    await assertUntouched();
    assert.equal((await importRow(db.pool, importId)).state, 'running');
  });

  it('reads the clock after it has the lock: a batch that waits past the deadline is too late', async () => {
    let batch: Promise<unknown> | undefined;
    await transaction(db.pool, async (tx) => {
      await tx.query('select from imports where id = $1 for update', [importId]);
      await tx.query(`update imports set deadline = clock_timestamp() + interval '300 milliseconds' where id = $1`, [
        importId,
      ]);
      batch = assert.rejects(write(), isNotRunning);
      await waitFor(() => writerWaits(db.pool), { what: 'the batch to wait for the import' });
      await waitFor(
        async () =>
          (await tx.query('select from imports where id = $1 and deadline < clock_timestamp()', [importId])).rowCount,
        {
          what: 'the deadline',
        },
      );
    });
    await batch;
    await assertUntouched();
  });

  it('sees a state that was set while it waited', async () => {
    let batch: Promise<unknown> | undefined;
    await transaction(db.pool, async (tx) => {
      await tx.query(`update imports set state = 'cancelled' where id = $1`, [importId]);
      batch = assert.rejects(write(), isNotRunning);
      await waitFor(() => writerWaits(db.pool), { what: 'the batch to wait for the import' });
    });
    await batch;
    await assertUntouched();
  });

  it('makes the end of the import wait for a batch in progress, which then counts', async () => {
    const client = await writer.connect();
    try {
      await client.query('begin');
      const one = { query: client.query.bind(client) } as unknown as Pool;
      assert.equal(await writeBatch(one, importId, [0, 1, 2], { codeTtlMs: 1000 }), 3);
      const cancel = assert.rejects(
        cancelImport(writer, ADMIN, importId),
        { id: 'IMPORT-STATE' },
        'it had succeeded by then',
      );
      await waitFor(() => writerWaits(db.pool), { what: 'the cancel to wait' });
      await client.query('commit');
      await cancel;
    } finally {
      client.release();
    }
    assert.equal((await importRow(db.pool, importId)).state, 'succeeded');
  });

  it('is reported to the batch writer, which treats the job as done', async () => {
    await setImport(db.pool, importId, { deadline: 'clock_timestamp()' });
    assert.equal(await expireImport(db.pool, importId), true);
    await assert.rejects(batchStore(writer, { codeTtlMs: 1 }).write(importId, [0]), { kind: 'not-running' });
    await assertUntouched();
  });
});

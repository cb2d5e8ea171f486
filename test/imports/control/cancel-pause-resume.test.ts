import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelImport, pauseImport, resumeImport } from '../../../src/imports/control/control.ts';
import { dispatchRound, pointerJob } from '../../../src/imports/run/dispatch.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { expireDue } from '../../../src/imports/upkeep/rescue.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptImport,
  addAdmin,
  addOrgs,
  entries,
  importRow,
  openWriterPool,
  queueLog,
  setImport,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const PAST = `clock_timestamp() - interval '1 millisecond'`;

describe('cancel, pause and resume', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'control' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    await addAdmin(db.pool);
    importId = await acceptImport(db.pool, entries(5), { timeout: '1h' });
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const cancel = () => cancelImport(db.pool, ADMIN, importId);
  const pause = () => pauseImport(db.pool, ADMIN, importId);
  const resume = (timeout?: string) => resumeImport(db.pool, ADMIN, importId, { timeout, max: '24h' });
  const settle = (ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: 1000 });
  const progress = async () => (await readProgress(db.pool, importId)) ?? assert.fail();
  /** Sets the import's times back, as if it had been paused for an hour. */
  const anHourLater = () =>
    setImport(db.pool, importId, {
      paused_at: `paused_at - interval '1 hour'`,
      deadline: `deadline - interval '1 hour'`,
      accepted_at: `accepted_at - interval '1 hour'`,
    });
  const leftMs = async () => Date.parse((await progress()).deadline) - Date.now();
  const isAbout = (ms: number, expected: number, what?: string) =>
    assert.ok(Math.abs(ms - expected) < 5000, what ?? `${ms}`);
  const state = async () => (await importRow(db.pool, importId)).state;
  const unfit = { id: 'IMPORT-STATE', status: 'FAILED_PRECONDITION', http: 400 };
  const badTimeout = { id: 'IMPORT-TIMEOUT', status: 'INVALID_ARGUMENT' };
  async function events(): Promise<string[]> {
    const { rows } = await db.pool.query(
      `select type, editor from events where aggregate_type = 'import' and aggregate_id = $1 order by sequence`,
      [importId],
    );
    assert.ok(rows.every((r) => r.editor === ADMIN.userId));
    return rows.map((r) => r.type);
  }
  async function dispatched(): Promise<string[]> {
    const queues = queueLog();
    await dispatchRound({ pool: db.pool, queues }, { window: 100, slice: 100 });
    return queues.added;
  }

  it('cancel: nothing is written afterwards, and repeating it has no effect', async () => {
    await settle([0]);
    await cancel();
    const cancelled = await importRow(db.pool, importId);
    assert.ok(cancelled.finished_at);
    await assert.rejects(settle([1, 2]), { code: 'MU001' });
    await cancel();
    assert.deepEqual(await importRow(db.pool, importId), cancelled);
    assert.deepEqual(await events(), ['import.accepted', 'import.cancelled']);
    assert.equal((await tableCounts(db.pool)).users, 1);
    assert.deepEqual(await dispatched(), []);
  });

  it('resume: continues with exactly the pending items', async () => {
    assert.equal((await dispatched()).length, 5);
    await settle([0, 3]);
    await cancel();
    await resume();
    assert.deepEqual(
      await dispatched(),
      [1, 2, 4].map((o) => pointerJob(importId, o, 1).id),
    );
    assert.equal(await settle([0, 1, 2, 3, 4]), 3);
    const { counts, state } = (await readProgress(db.pool, importId)) ?? assert.fail();
    assert.deepEqual([state, counts.succeeded, counts.total], ['IMPORT_STATE_SUCCEEDED', 5, 5]);
    assert.deepEqual(await tableCounts(db.pool), { users: 5, events: 5, metadata: 0, links: 0, codes: 0, mails: 0 });
    assert.deepEqual(await events(), ['import.accepted', 'import.cancelled', 'import.resumed']);
  });

  it('a cancelled import keeps its deadline unless it gets a new one', async () => {
    const { deadline } = await importRow(db.pool, importId);
    await cancel();
    await resume();
    const kept = await importRow(db.pool, importId);
    assert.deepEqual([kept.deadline, kept.timeout, kept.finished_at], [deadline, '1h', null]);
    await cancel();
    await resume('2h');
    const later = await importRow(db.pool, importId);
    assert.equal(later.timeout, '2h');
    assert.ok(Math.abs(later.deadline.getTime() - later.changed_at.getTime() - 7_200_000) < 1000);
  });

  for (const noticed of [true, false]) {
    it(`resume requires a timeout when the deadline has passed, ${noticed ? 'already' : 'not yet'} noticed`, async () => {
      await settle([0]);
      await setImport(db.pool, importId, { deadline: PAST, ...(noticed ? { state: `'timed_out'` } : {}) });
      await assert.rejects(resume(), badTimeout);
      await resume('1h');
      assert.equal(await state(), 'running');
      assert.deepEqual(
        await dispatched(),
        [1, 2, 3, 4].map((o) => pointerJob(importId, o, 1).id),
      );
      assert.equal(await settle([1, 2, 3, 4]), 4);
      assert.equal(await state(), 'succeeded');
    });
  }

  it('resume requires a timeout also when the deadline passed while the import was cancelled', async () => {
    await cancel();
    await setImport(db.pool, importId, { deadline: PAST });
    await assert.rejects(resume(), badTimeout);
    await resume('1ms');
    const { deadline } = await importRow(db.pool, importId);
    await waitFor(() => Date.now() > deadline.getTime(), { what: 'the deadline' });
    await assert.rejects(settle([0]), { code: 'MU001' }, 'the new deadline passes as well');
  });

  it('an invalid timeout is refused and changes nothing', async () => {
    await cancel();
    const before = await importRow(db.pool, importId);
    for (const timeout of ['', '0s', '-1s', '25h', '1', 'soon'])
      await assert.rejects(resume(timeout), badTimeout, timeout);
    assert.deepEqual(await importRow(db.pool, importId), before);
  });

  it('resume does not change a running import', async () => {
    await dispatched();
    const before = await importRow(db.pool, importId);
    await resume();
    await resume('2h');
    assert.deepEqual(await importRow(db.pool, importId), before);
    assert.deepEqual(await dispatched(), []);
    assert.deepEqual(await events(), ['import.accepted']);
  });

  it('pause: nothing is written, the clock is stopped, and repeating it has no effect', async () => {
    await settle([0]);
    await pause();
    const paused = await importRow(db.pool, importId);
    await assert.rejects(settle([1, 2]), { code: 'MU001' });
    await pause();
    assert.deepEqual(await importRow(db.pool, importId), paused);
    await anHourLater();
    await anHourLater(); // by the wall clock its deadline was an hour ago
    const { state, counts, eta } = await progress();
    assert.deepEqual([state, counts.pending, counts.succeeded, eta], ['IMPORT_STATE_PAUSED', 4, 1, null]);
    isAbout(await leftMs(), 3_600_000);
    assert.deepEqual(await dispatched(), []);
    assert.equal(await expireDue(db.pool), 0);
    assert.deepEqual(await events(), ['import.accepted', 'import.paused']);
  });

  it('continues after a pause with the time that was left', async () => {
    await settle([0]);
    await pause();
    await anHourLater();
    await anHourLater();
    await resume();
    isAbout(await leftMs(), 3_600_000);
    assert.ok((await progress()).usersPerSecond > 0.05, 'the pause does not count as working time');
    await resume();
    assert.deepEqual(
      await dispatched(),
      [1, 2, 3, 4].map((o) => pointerJob(importId, o, 1).id),
    );
    assert.equal(await settle([1, 2, 3, 4]), 4);
    assert.equal(await state(), 'succeeded');
    assert.deepEqual(await events(), ['import.accepted', 'import.paused', 'import.resumed']);
  });

  it('resume accepts a new timeout after a pause; an invalid one leaves the import paused', async () => {
    await pause();
    await assert.rejects(resume('soon'), badTimeout);
    assert.equal(await state(), 'paused');
    await resume('2h');
    isAbout(await leftMs(), 7_200_000);
    assert.equal((await importRow(db.pool, importId)).paused_at, null);
  });

  it('a paused import can be cancelled; from then on its clock runs', async () => {
    await pause();
    await anHourLater();
    await cancel();
    const { paused_at, deadline, finished_at } = await importRow(db.pool, importId);
    assert.equal(paused_at, null);
    isAbout(deadline.getTime() - finished_at.getTime(), 3_600_000);
    await setImport(db.pool, importId, { deadline: PAST });
    await assert.rejects(resume(), badTimeout);
    assert.deepEqual(await events(), ['import.accepted', 'import.paused', 'import.cancelled']);
  });

  it('the actions are refused in any other state', async () => {
    for (const other of ['succeeded', 'completed_with_errors', 'undoing', 'undone']) {
      await setImport(db.pool, importId, { state: `'${other}'` });
      await assert.rejects(cancel(), unfit, other);
      await assert.rejects(pause(), unfit, other);
      await assert.rejects(resume('1h'), { ...unfit, message: new RegExp(`IMPORT_STATE_${other.toUpperCase()}`) });
      assert.equal(await state(), other);
    }
    await setImport(db.pool, importId, { state: `'timed_out'` });
    await assert.rejects(cancel(), unfit);
    await assert.rejects(pause(), unfit);
    await setImport(db.pool, importId, { state: `'running'`, deadline: PAST });
    await assert.rejects(
      cancel(),
      { ...unfit, message: /IMPORT_STATE_TIMED_OUT/ },
      'the deadline has passed, even if the table still says running',
    );
    assert.deepEqual(await events(), ['import.accepted']);
  });
});

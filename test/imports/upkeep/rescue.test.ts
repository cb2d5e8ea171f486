/** The rescuer, among imports that it must not touch. The tests simulate stalls by setting timestamps back. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { dispatchRound, pointerJob } from '../../../src/imports/run/dispatch.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { rescueRound } from '../../../src/imports/upkeep/rescue.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { subscribe } from '../../../src/platform/telemetry.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  importRow,
  openWriterPool,
  queueLog,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const AFTER = { rescueAfterMs: 30_000, abandonedAfterMs: 300_000 };
const LONG_AGO = `clock_timestamp() - interval '31 seconds'`;
const JUST_NOW = `clock_timestamp() - interval '10 seconds'`;

describe('the rescuer', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'rescue' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const dispatch = (queues = queueLog()) =>
    dispatchRound({ pool: db.pool, queues }, { window: 100, slice: 100 }).then(() => queues.added);
  async function started(
    times: { changed: string; moved: string },
    columns: Record<string, string> = {},
  ): Promise<string> {
    const importId = await acceptImport(db.pool, entries(3));
    await dispatch();
    await setImport(db.pool, importId, { changed_at: times.changed, ...columns });
    await db.pool.query(`update import_dispatch set moved_at = ${times.moved} where import_id = $1`, [importId]);
    return importId;
  }
  async function cursors(): Promise<Record<string, number>> {
    const { rows } = await db.pool.query('select import_id, next_ordinal from import_dispatch');
    return Object.fromEntries(rows.map((r) => [r.import_id, r.next_ordinal]));
  }

  it('resets the cursor of the one import that has stalled, and of no other', async () => {
    const still = { changed: LONG_AGO, moved: LONG_AGO };
    const stuck = await started(still);
    const settling = await started({ changed: JUST_NOW, moved: LONG_AGO });
    const dispatching = await started({ changed: LONG_AGO, moved: JUST_NOW });
    const states = [
      'receiving',
      'paused',
      'undoing',
      'succeeded',
      'completed_with_errors',
      'timed_out',
      'cancelled',
      'undone',
    ];
    const ended: string[] = [];
    for (const state of states) ended.push(await started(still, { state: `'${state}'` }));
    const overdue = await started(still, { deadline: 'clock_timestamp()' });
    const before = await cursors();

    const { expired, redispatched, swept } = await rescueRound(db.pool, AFTER);
    assert.deepEqual({ expired, redispatched, swept }, { expired: 1, redispatched: [stuck], swept: 0 });
    assert.deepEqual(await cursors(), { ...before, [stuck]: 0 });
    assert.equal((await importRow(db.pool, overdue)).state, 'timed_out');
    for (const [i, importId] of ended.entries()) assert.equal((await importRow(db.pool, importId)).state, states[i]);
    assert.deepEqual(
      [settling, dispatching].map((id) => before[id]),
      [3, 3],
    );
  });

  it('dispatches exactly the pending items again', async () => {
    const importId = await started({ changed: LONG_AGO, moved: LONG_AGO });
    await writeBatch(writer, importId, [1], { codeTtlMs: 1000 });
    await setImport(db.pool, importId, { changed_at: LONG_AGO });
    assert.deepEqual(await dispatch(), [], 'everything was dispatched');
    assert.deepEqual((await rescueRound(db.pool, AFTER)).redispatched, [importId]);
    assert.deepEqual(
      await dispatch(),
      [0, 2].map((o) => pointerJob(importId, o).id),
    );
  });

  it('gives the import time to make progress before the next rescue', async () => {
    const importId = await started({ changed: LONG_AGO, moved: LONG_AGO });
    assert.deepEqual((await rescueRound(db.pool, AFTER)).redispatched, [importId]);
    await dispatch();
    assert.deepEqual((await rescueRound(db.pool, AFTER)).redispatched, []);
  });

  it('uses new job ids for items that no worker settled after the first rescue, unless the queue is full or unavailable', async () => {
    const mostHeld = 100;
    const rescue = async (depth: () => Promise<number>) => {
      await rescueRound(db.pool, { ...AFTER, queue: { depth, mostHeld } });
      return dispatch();
    };
    const stuck = { changed: `clock_timestamp() - interval '61 seconds'`, moved: LONG_AGO };
    // Three jobs of this import belong in the queue.
    for (const [depth, generation] of [
      [async () => mostHeld + 3, 0],
      [() => Promise.reject(new Error('the queue is unavailable')), 0],
      [async () => mostHeld + 2, 1],
    ] as const) {
      await wipe(db.pool);
      const importId = await started(stuck);
      assert.deepEqual(
        await rescue(depth),
        [0, 1, 2].map((o) => pointerJob(importId, o, generation).id),
      );
    }
    await wipe(db.pool);
    const importId = await started({ changed: LONG_AGO, moved: LONG_AGO });
    assert.equal((await rescue(async () => 3))[0], pointerJob(importId, 0, 0).id, 'the first rescue keeps the ids');
  });

  it('ignores items that were not dispatched yet: the dispatcher will add them', async () => {
    const importId = await acceptImport(db.pool, entries(3));
    await setImport(db.pool, importId, { changed_at: LONG_AGO });
    await db.pool.query(`update import_dispatch set moved_at = ${LONG_AGO}`);
    assert.deepEqual((await rescueRound(db.pool, AFTER)).redispatched, []);
  });

  it('may run in several processes at once', async () => {
    const importId = await started({ changed: LONG_AGO, moved: LONG_AGO });
    const rounds = await Promise.all([1, 2, 3].map(() => rescueRound(db.pool, AFTER)));
    assert.ok(rounds.some((r) => r.redispatched.includes(importId)));
    assert.deepEqual(await cursors(), { [importId]: 0 });
  });

  it('counts an import that a trigger stopped, once, though another process may resume it', async () => {
    const importId = await acceptImport(db.pool, entries(3));
    const ended: unknown[] = [];
    subscribe('importEnded', (end) => ended.push([end.importId, end.state, end.seconds < 60]));
    // Its creator has no role in the organization.
    const { createdBy } = (await db.pool.query('select created_by as "createdBy" from imports')).rows[0];
    await db.pool.query('select stop_imports_of($1)', [createdBy]);
    assert.equal((await importRow(db.pool, importId)).state, 'cancelled');
    const rounds = await Promise.all([rescueRound(db.pool, AFTER), rescueRound(writer, AFTER)]);
    assert.equal(rounds[0].counted + rounds[1].counted, 1);
    assert.equal((await rescueRound(db.pool, AFTER)).counted, 0);
    assert.deepEqual(ended, [[importId, 'cancelled', true]]);
  });
});

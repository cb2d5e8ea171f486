import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { dispatchRound, pointerJob, resetCursor } from '../../../src/imports/run/dispatch.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  entry,
  itemRows,
  openWriterPool,
  type QueueLog,
  queueLog,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const WINDOW = { window: 10, slice: 4 };

describe('dispatch', () => {
  let db: TestDatabase;
  let writer: Pool;
  let queues: QueueLog;
  before(async () => {
    db = await testDatabase({ name: 'dispatch' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    queues = queueLog();
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const round = (settings = WINDOW, to = queues) => dispatchRound({ pool: db.pool, queues: to }, settings);
  const settle = (importId: string, ordinals: number[]) => writeBatch(writer, importId, ordinals, { codeTtlMs: 1000 });
  const ids = (importId: string, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => pointerJob(importId, from + i).id);
  async function cursor(importId: string) {
    const { rows } = await db.pool.query('select * from import_dispatch where import_id = $1', [importId]);
    return rows[0];
  }

  it('keeps at most a window of jobs in the queue, and fills up as items settle', async () => {
    const importId = await acceptImport(db.pool, entries(30));
    for (let i = 0; i < 5; i++) await round();
    assert.deepEqual(queues.added, ids(importId, 0, 10), 'in body order, each once');
    await settle(importId, [0]);
    await round();
    assert.equal(queues.added.length, 10, 'one free slot is not worth a round trip');
    await settle(importId, [1, 2, 3, 4]);
    await round();
    assert.deepEqual(queues.added, ids(importId, 0, 14));
    const done = new Set([0, 1, 2, 3, 4]);
    while (done.size < 30) {
      const waiting = queues.added.map((_, o) => o).filter((o) => !done.has(o));
      assert.ok(waiting.length <= WINDOW.window, `${waiting.length} jobs`);
      await settle(importId, waiting.slice(0, 3));
      for (const o of waiting.slice(0, 3)) done.add(o);
      await round();
    }
    assert.deepEqual(queues.added, ids(importId, 0, 30));
    assert.deepEqual(await round(), { open: 0, added: 0 });
  });

  it('keeps fewer jobs of users with plain passwords in the queue', async () => {
    const users = Array.from({ length: 1500 }, (_, n) => entry(`p${n}`, { password: 'x', hashedPassword: undefined }));
    const importId = await acceptImport(db.pool, users);
    for (let i = 0; i < 3; i++) await round({ window: 4000, slice: 400 });
    assert.deepEqual(queues.added, ids(importId, 0, 1000));
  });

  it('works with a window of one', async () => {
    const importId = await acceptImport(db.pool, entries(3));
    for (let i = 0; i < 3; i++) {
      await round({ window: 1, slice: 1 });
      await round({ window: 1, slice: 1 });
      assert.equal(queues.added.length, i + 1);
      await settle(importId, [i]);
    }
  });

  it('dispatches pending items only', async () => {
    const importId = await acceptImport(db.pool, [entry('a'), null, entry('b'), entry('a'), entry('c')]);
    assert.deepEqual(await round(), { open: 1, added: 3 });
    assert.deepEqual(
      queues.added,
      [0, 2, 4].map((o) => pointerJob(importId, o).id),
    );
    assert.equal((await cursor(importId)).next_ordinal, 5);
  });

  it('reaches the end of a body whose last users are invalid', async () => {
    await acceptImport(db.pool, [...entries(4), 1, 2, 3]);
    assert.deepEqual(await round(), { open: 1, added: 4 });
    assert.deepEqual(await round(), { open: 1, added: 0 });
    assert.deepEqual(await round(), { open: 0, added: 0 });
  });

  it('gives each import a slice in each round, so a small one does not wait', async () => {
    const [big, small] = [await acceptImport(db.pool, entries(1000)), await acceptImport(db.pool, [entry('x')])];
    await round();
    await round();
    assert.deepEqual(queues.added, [...ids(big, 0, 4), ...ids(small, 0, 1), ...ids(big, 4, 8)]);
  });

  it('lets the first jobs of an import jump the queue, and again after its cursor is reset', async () => {
    const wide = { window: 500, slice: 70 };
    const big = await acceptImport(db.pool, entries(300));
    for (let i = 0; i < 5; i++) await round(wide);
    const first = ids(big, 0, 100);
    assert.deepEqual(queues.added, ids(big, 0, 300));
    assert.deepEqual(queues.urgent, first);
    await acceptImport(db.pool, [entry('x')]);
    await round(wide);
    assert.equal(queues.urgent.length, 101);
    await resetCursor(db.pool, big, false);
    for (let i = 0; i < 5; i++) await round(wide);
    assert.deepEqual(queues.urgent.slice(101), first);
  });

  it('begins with the import that has the fewest queued jobs', async () => {
    const big = await acceptImport(db.pool, entries(1000));
    await round({ window: 8, slice: 4 });
    const small = await acceptImport(db.pool, [entry('x'), entry('y')]);
    queues.added.length = 0;
    await round({ window: 8, slice: 4 });
    assert.deepEqual(queues.added, [...ids(small, 0, 2), ...ids(big, 4, 8)]);
  });

  it('skips imports that do not run, including those past a deadline that was not noticed yet', async () => {
    for (const state of ['receiving', 'paused', 'undoing', 'timed_out', 'cancelled', 'succeeded']) {
      await setImport(db.pool, await acceptImport(db.pool, entries(2)), { state: `'${state}'` });
    }
    await setImport(db.pool, await acceptImport(db.pool, entries(2)), { deadline: 'clock_timestamp()' });
    assert.deepEqual(await round(), { open: 0, added: 0 });
    assert.deepEqual(queues.added, []);
  });

  it('adds the same jobs again after a crash before the cursor moved', async () => {
    const importId = await acceptImport(db.pool, entries(6));
    const dying = queueLog();
    const pool = brokenAfterAdd(db.pool, dying);
    await assert.rejects(dispatchRound({ pool, queues: dying }, WINDOW), /died/);
    assert.deepEqual(dying.added, ids(importId, 0, 4));
    assert.deepEqual([(await cursor(importId)).next_ordinal, (await cursor(importId)).dispatched], [0, 0]);
    await round();
    assert.deepEqual(queues.added, dying.added);
  });

  it('does not move the cursor when the queue is unavailable', async () => {
    const importId = await acceptImport(db.pool, entries(6));
    let away = true;
    const flaky = queueLog(() => away);
    await assert.rejects(round(WINDOW, flaky), /the queue is unavailable/);
    assert.equal((await cursor(importId)).next_ordinal, 0);
    away = false;
    await round(WINDOW, flaky);
    assert.deepEqual(flaky.added, ids(importId, 0, 4));
  });

  it('moves the cursor once when two dispatchers run the same round', async () => {
    const importId = await acceptImport(db.pool, entries(30));
    let arrived = 0;
    const both = Promise.withResolvers<void>();
    const meeting = queueLog();
    const add = meeting.add;
    meeting.add = async (name, jobs) => {
      await add(name, jobs);
      if (++arrived === 2) both.resolve();
      await both.promise;
    };
    await Promise.all([round(WINDOW, meeting), round(WINDOW, meeting)]);
    assert.deepEqual(meeting.added, [...ids(importId, 0, 4), ...ids(importId, 0, 4)]);
    const { next_ordinal, dispatched } = await cursor(importId);
    assert.deepEqual([next_ordinal, dispatched], [4, 4]);
  });

  it('a slow dispatcher does not overwrite a cursor that was reset meanwhile', async () => {
    const importId = await acceptImport(db.pool, entries(30));
    await round();
    const slow = queueLog();
    const add = slow.add;
    slow.add = async (name, jobs) => {
      await add(name, jobs);
      await resetCursor(db.pool, importId, false);
    };
    await round(WINDOW, slow);
    assert.deepEqual(slow.added, ids(importId, 4, 8));
    const { next_ordinal, dispatched } = await cursor(importId);
    assert.deepEqual([next_ordinal, dispatched], [0, 0], 'so no item is skipped');
  });

  it('starts again with exactly the pending items, and counts the window from zero', async () => {
    const importId = await acceptImport(db.pool, entries(20));
    await round();
    await round();
    await settle(importId, [1, 3, 5]);
    await resetCursor(db.pool, importId, false);
    await queues.drop('imports');
    for (let i = 0; i < 5; i++) await round();
    assert.deepEqual(
      queues.added,
      [0, 2, 4, 6, 7, 8, 9, 10, 11, 12].map((o) => pointerJob(importId, o).id),
    );
    assert.equal((await itemRows(db.pool, importId)).filter((i) => i.state === 'pending').length, 17);
  });
});

/** A pool whose connection breaks after jobs were added. */
function brokenAfterAdd(pool: Pool, log: QueueLog): Pool {
  return {
    // biome-ignore lint/suspicious/noExplicitAny: all forms of query
    query: (...args: any[]) => {
      if (log.added.length > 0) return Promise.reject(new Error('the process died'));
      return (pool.query as (...all: unknown[]) => unknown)(...args);
    },
  } as Pool;
}

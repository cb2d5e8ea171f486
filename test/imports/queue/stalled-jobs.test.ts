/** With the queue on PostgreSQL, jobs of a dead worker are taken over whatever clock the workers have. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { openQueues, type Queues } from '../../../src/imports/queue/queues.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const LOCK_MS = 600;
const TWO_HOURS_MS = 2 * 3600 * 1000;
/** The queue `imports` as BullMQ calls it. */
const QUEUE = 't-imports';

interface Stage {
  db: TestDatabase;
  queues: Queues;
  /** Ids of the jobs in the order in which they ended. */
  ended: string[];
}

test('a job that a dead worker locked two hours ahead is taken over after the duration of a lock', async (t) => {
  const { db, queues, ended } = await setUp(t);
  await queues.check(); // connects
  await lockedUntil(db, Date.now() + TWO_HOURS_MS);
  await queues.add('imports', [{ id: 'waits', data: {} }]);
  await waitFor(async () => ended.length === 2, { what: 'both jobs' });
  assert.deepEqual(ended, ['waits', 'held']);
});

test('a check for stalled jobs by a worker whose clock is ahead prevents no later check', async (t) => {
  const { db, ended } = await setUp(t);
  await db.pool.query(`update bullmq.meta set value = $2 where queue = $1 and field = 'stalled-check'`, [
    QUEUE,
    String(Date.now() + TWO_HOURS_MS),
  ]);
  await lockedUntil(db, Date.now());
  await waitFor(async () => ended.length === 1, { what: 'the job' });
});

for (const [place, offset] of [
  ['behind', -TWO_HOURS_MS],
  ['ahead', TWO_HOURS_MS],
] as const) {
  test(`a worker whose clock is two hours ${place} checks by the clock of PostgreSQL`, async (t) => {
    const { db, ended } = await setUp(t);
    const now = Date.now.bind(Date);
    t.mock.method(Date, 'now', () => now() + offset);
    await lockedUntil(db, now() + LOCK_MS);
    await waitFor(async () => ended.length === 1, { what: 'the job' });
    const { rows } = await db.pool.query<{ ahead: number }>(
      `select value::float8 - extract(epoch from clock_timestamp()) * 1000 as ahead
       from bullmq.meta where queue = $1 and field = 'stalled-check'`,
      [QUEUE],
    );
    assert.ok((rows[0]?.ahead as number) <= 0, 'the next check may be at once');
  });
}

/** A worker, and the job `held` as a worker left it that died. */
async function setUp(t: TestContext): Promise<Stage> {
  const db = await testDatabase({ name: 'stalled' });
  const queues = openQueues({ DATABASE_URL: db.url, QUEUE_PREFIX: 't' });
  const ended: string[] = [];
  const worker = queues.work('imports', async ({ id }) => void ended.push(id as string), {
    concurrency: 2,
    lockMs: LOCK_MS,
  });
  t.after(async () => {
    await worker.stop();
    await queues.close();
    await db.drop();
  });
  await waitFor(
    async () => (await db.pool.query(`select from bullmq.meta where field = 'stalled-check'`)).rowCount === 1,
    {
      what: 'the first check for stalled jobs',
    },
  );
  return { db, queues, ended };
}

async function lockedUntil(db: TestDatabase, ms: number): Promise<void> {
  await db.pool.query(
    `insert into bullmq.job (queue, id, seq, name, state, added_at_ms, opts, lock_token, locked_until_ms)
     values ($1, 'held', nextval('bullmq.job_seq'), 'j', 'active', $2, '{"removeOnComplete": true, "removeOnFail": true}', 'dead', $2)`,
    [QUEUE, ms],
  );
}

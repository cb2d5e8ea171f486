/** The shared statement hands out the jobs that BullMQ would have handed out one by one, or none. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPostgresBackend, type JobsOptions, Queue } from 'bullmq';
import pg from 'pg';
import { claimBatch } from '../../../src/imports/queue/postgres-fetch.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const NOW = 1_800_000_000_000;
const LOCK_MS = 30_000;
const TEXT = 'select * from move_to_active($1, $2, $3, $4, $5, $6, $7)';

type Row = Record<string, unknown>;

describe('fetching jobs in a batch', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  const open: Queue[] = [];
  before(async () => {
    database = await testDatabase({ name: 'claim' });
    pool = new pg.Pool({ connectionString: database.url, max: 4, options: '-c search_path=bullmq' });
  });
  after(async () => {
    await Promise.all(open.map((one) => one.close()));
    await pool.end();
    await database.drop();
  });

  async function queueOf(name: string, jobs: number, options: JobsOptions = {}): Promise<Queue> {
    const queue = new Queue(name, { connection: pool } as never, createPostgresBackend as never) as unknown as Queue;
    open.push(queue);
    await queue.waitUntilReady();
    await queue.addBulk(
      Array.from({ length: jobs }, (_, n) => ({ name: 'j', data: { n }, opts: { ...options, jobId: `j${n}` } })),
    );
    return queue;
  }

  /** Fetches for this many tokens; returns the jobs in the order of the tokens; undefined if the statement did not apply. */
  async function fetched(queue: string, count: number): Promise<Row[] | undefined> {
    const tokens = Array.from({ length: count }, (_, n) => `w:${n}`);
    const { rows } = await pool.query(claimBatch({ queue, lockMs: LOCK_MS, workerName: 'worker' }, tokens, NOW));
    return rows[0].holds ? rows.filter(({ ord }) => ord !== null) : undefined;
  }
  /** Everything that BullMQ stores for a queue, without values that always differ. */
  async function kept(queue: string): Promise<{ jobs: Row[]; events: Row[] }> {
    const jobs = await pool.query('select * from job where queue = $1 order by seq', [queue]);
    const events = await pool.query('select event, data from event where queue = $1 order by id', [queue]);
    return { jobs: jobs.rows.map(comparable), events: events.rows };
  }
  const comparable = ({ ord: _ord, holds: _holds, queue: _queue, seq: _seq, added_at_ms: _added, ...row }: Row) => row;

  it('leaves jobs and events as BullMQ does, and returns the same jobs', async () => {
    await Promise.all([queueOf('ours', 10), queueOf('theirs', 10)]);
    const jobs = await fetched('ours', 8);
    const one: Row[] = [];
    for (let n = 0; n < 8; n++) {
      one.push((await pool.query(TEXT, ['theirs', `w:${n}`, LOCK_MS, NOW, 'worker', null, null])).rows[0]);
    }
    assert.deepEqual(jobs?.map(comparable), one.map(comparable));
    assert.deepEqual(await kept('ours'), await kept('theirs'));
  });

  it('gives nothing to those for whom no job waits', async () => {
    await queueOf('few', 2);
    const jobs = await fetched('few', 4);
    assert.deepEqual(
      jobs?.map(({ ord, id }) => [Number(ord), id]),
      [
        [1, 'j0'],
        [2, 'j1'],
      ],
    );
    assert.deepEqual(await fetched('few', 3), []);
  });

  const obstacles: Record<string, (queue: Queue) => Promise<unknown>> = {
    'a paused queue': (queue) => queue.pause(),
    'a global concurrency limit': (queue) => queue.setGlobalConcurrency(2),
    'a global rate limit': (queue) => queue.setGlobalRateLimit(3, 60_000),
    'a delayed job': (queue) => queue.add('j', {}, { delay: 60_000 }),
  };
  for (const [what, put] of Object.entries(obstacles)) {
    it(`does nothing in the case of ${what}`, async () => {
      const name = `not ${what}`;
      await put(await queueOf(name, 10));
      const before = await kept(name);
      assert.equal(await fetched(name, 5), undefined);
      assert.deepEqual(await kept(name), before);
    });
  }
});

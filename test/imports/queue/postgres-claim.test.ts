import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPostgresBackend, type JobsOptions, Queue } from 'bullmq';
import pg from 'pg';
import type { Call, RunQuery } from '../../../src/imports/queue/batching.ts';
import { claim } from '../../../src/imports/queue/postgres-claim.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

/** Fetches in common hand out the jobs that BullMQ would have handed out one by one. */

const NOW = 1_800_000_000_000;
const LOCK_MS = 30_000;
const TEXT = 'select * from move_to_active($1, $2, $3, $4, $5, $6, $7)';

type Row = Record<string, unknown>;

describe('fetching jobs of PostgreSQL in common', () => {
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

  /** Fetches for this many tokens at once; returns what each got, and the statements that were sent. */
  async function fetched(queue: string, count: number, limiterMax: number | null = null) {
    const statements: string[] = [];
    const run: RunQuery = (query, values) => {
      statements.push(typeof query === 'string' ? query : (query as { name: string }).name);
      return pool.query(query as string, values as unknown[]) as never;
    };
    const got: Promise<Row | undefined>[] = [];
    const calls = Array.from({ length: count }, (_, n): Call => {
      const { promise, resolve, reject } = Promise.withResolvers<{ rows: unknown[] }>();
      got.push(promise.then(({ rows }) => rows[0] as Row | undefined));
      const values = [queue, `w:${n}`, LOCK_MS, NOW, 'worker', limiterMax, limiterMax && 1000];
      return { text: TEXT, values, resolve, reject };
    });
    await claim(run, calls);
    return { jobs: await Promise.all(got), statements };
  }
  /** Everything that BullMQ stores for a queue, without values that always differ. */
  async function kept(queue: string): Promise<{ jobs: Row[]; events: Row[] }> {
    const jobs = await pool.query('select * from job where queue = $1 order by seq', [queue]);
    const events = await pool.query('select event, data from event where queue = $1 order by id', [queue]);
    return { jobs: jobs.rows.map(comparable), events: events.rows };
  }
  const comparable = ({ queue: _queue, seq: _seq, added_at_ms: _added, ...row }: Row) => row;

  it('leaves jobs and events as BullMQ does, and returns the same jobs', async () => {
    await Promise.all([queueOf('ours', 10), queueOf('theirs', 10)]);
    const { jobs, statements } = await fetched('ours', 8);
    assert.deepEqual(statements, ['claim-batch']);
    const one: (Row | undefined)[] = [];
    for (let n = 0; n < 8; n++) {
      one.push((await pool.query(TEXT, ['theirs', `w:${n}`, LOCK_MS, NOW, 'worker', null, null])).rows[0]);
    }
    assert.deepEqual(
      jobs.map((job) => comparable(job ?? {})),
      one.map((job) => comparable(job ?? {})),
    );
    assert.deepEqual(await kept('ours'), await kept('theirs'));
  });

  it('gives nothing to those for whom no job waits', async () => {
    await queueOf('few', 2);
    const { jobs } = await fetched('few', 4);
    assert.deepEqual(
      jobs.map((job) => job?.id),
      ['j0', 'j1', undefined, undefined],
    );
    assert.deepEqual((await fetched('few', 3)).jobs, [undefined, undefined, undefined]);
  });

  const obstacles: Record<string, { put?(queue: Queue): Promise<unknown>; limiterMax?: number; get: number }> = {
    'a paused queue': { put: (queue) => queue.pause(), get: 0 },
    'a global concurrency limit': { put: (queue) => queue.setGlobalConcurrency(2), get: 2 },
    'a global rate limit': { put: (queue) => queue.setGlobalRateLimit(3, 60_000), get: 3 },
    'a delayed job': { put: (queue) => queue.add('j', {}, { delay: 60_000 }), get: 5 },
    'a rate limit of the worker': { limiterMax: 1, get: 1 },
  };
  for (const [what, { put, limiterMax = null, get }] of Object.entries(obstacles)) {
    it(`leaves the calls to BullMQ in the case of ${what}`, async () => {
      const name = `not ${what}`;
      const queue = await queueOf(name, 10);
      await put?.(queue);
      const { jobs, statements } = await fetched(name, 5, limiterMax);
      assert.equal(jobs.filter(Boolean).length, get);
      assert.equal(statements.filter((text) => text === TEXT).length, 5);
    });
  }
});

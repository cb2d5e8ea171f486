import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  type BackendFactory,
  createPostgresBackend,
  type IQueueBackend,
  type Job,
  type JobsOptions,
  Queue,
  Worker,
} from 'bullmq';
import pg from 'pg';
import { withBatchedFetches } from '../../../src/imports/queue/postgres-fetch.ts';
import { hold } from '../../support/stores/locks.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const KEEP_NOTHING: JobsOptions = { removeOnComplete: true, removeOnFail: true };

/** Batched fetches and completions of workers on PostgreSQL: what is sent, and what happens when a batch fails. */

const PLAIN = createPostgresBackend as BackendFactory<IQueueBackend, unknown>;

describe('completions of BullMQ on PostgreSQL', () => {
  let database: TestDatabase;
  const pools: pg.Pool[] = [];
  /** Queues and workers of the current test; a worker left open would keep its pool forever. */
  const open: Array<Queue | Worker> = [];
  const warnings: string[] = [];
  before(async () => {
    database = await testDatabase({ name: 'merge' });
  });
  afterEach(() => Promise.all(open.splice(0).map((one) => (one instanceof Worker ? one.close(true) : one.close()))));
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await database.drop();
  });

  function openPool(): pg.Pool {
    const pool = new pg.Pool({ connectionString: database.url, max: 9, options: '-c search_path=bullmq' });
    pools.push(pool);
    return pool;
  }

  /** A pool that notes the statements which complete jobs; neither Muster nor BullMQ changes it. */
  function watchedPool(): { pool: pg.Pool; statements: string[] } {
    const pool = openPool();
    const statements: string[] = [];
    const send = pool.query.bind(pool) as (...args: unknown[]) => unknown;
    pool.query = ((query: string | { name: string }, ...rest: unknown[]) => {
      const statement = typeof query === 'string' ? query : query.name;
      if (/move_to_completed_fetch\(|^complete-batch$/.test(statement)) statements.push(statement);
      return send(query, ...rest);
    }) as typeof pool.query;
    return { pool, statements };
  }

  async function filled(name: string, jobs: number, options: JobsOptions = {}): Promise<Queue> {
    const queue = new Queue(name, { connection: openPool() } as never, createPostgresBackend as never);
    open.push(queue);
    const all = Array.from({ length: jobs }, (_, i) => ({
      name: 'j',
      data: { n: i },
      opts: { ...KEEP_NOTHING, ...options, jobId: `j${i}` },
    }));
    await queue.addBulk(all);
    return queue;
  }

  function work(name: string, pool: pg.Pool, processor: (job: Job) => Promise<unknown>, concurrency = 50): Worker {
    return started(name, processor, { connection: pool, concurrency });
  }

  function started(name: string, processor: (job: Job) => Promise<unknown>, options: object): Worker {
    const factory = withBatchedFetches(PLAIN, (reason) => warnings.push(reason));
    const worker = new Worker(name, processor, options as never, factory as never);
    open.push(worker);
    return worker;
  }

  it('are merged, and every job runs once', async () => {
    const queue = await filled('batched', 600);
    const { pool, statements } = watchedPool();
    const seen: number[] = [];
    work('batched', pool, async (job) => seen.push(job.data.n));
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 0, { what: 'an empty queue' });
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      Array.from({ length: 600 }, (_, i) => i),
    );
    assert.ok(statements.length < 300, `${statements.length} statements completed 600 jobs`);
    assert.ok(statements.includes('complete-batch'));
  });

  it('of a single job do not wait', async () => {
    const queue = await filled('lone', 1);
    const { pool, statements } = watchedPool();
    work('lone', pool, async () => 'done');
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 0, { what: 'an empty queue' });
    assert.deepEqual(
      statements.map((text) => /move_to_completed_fetch\(/.test(text)),
      [true],
    );
  });

  it('of jobs with lost locks fail alone', async () => {
    const queue = await filled('lost', 40);
    const { pool } = watchedPool();
    const errors = new Set<string>();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let running = 0;
    const worker = work('lost', pool, async (job) => {
      running++;
      await held;
      return job.id;
    });
    worker.on('error', (error) => errors.add(/j\d+/.exec(error.message)?.[0] ?? error.message));
    await waitFor(() => running === 40, { what: 'all jobs to run' });
    await database.pool.query(
      `update bullmq.job set lock_token = 'somebody else' where queue = 'lost' and id in ('j3', 'j7')`,
    );
    release();
    await waitFor(() => errors.size === 2, { what: 'two refusals' });
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 2, { what: 'the others' });
    const { rows } = await database.pool.query(`select id from bullmq.job where queue = 'lost' order by id`);
    assert.deepEqual(
      rows.map((row) => row.id),
      ['j3', 'j7'],
    );
  });

  it('do not all wait for one locked row', async () => {
    const queue = await filled('held', 20);
    const { pool } = watchedPool();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let running = 0;
    work('held', pool, async () => {
      running++;
      await held;
    });
    await waitFor(() => running === 20, { what: 'all jobs to run' });
    const other = await hold(database.pool, `select from bullmq.job where queue = 'held' and id = 'j5' for update`);
    release();
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 1, { what: 'the others' });
    await other.commit();
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 0, { what: 'the last one' });
  });

  it('leave failures, retries and results to BullMQ', async () => {
    const queue = await filled('retries', 30, { attempts: 3, removeOnComplete: false });
    const { pool } = watchedPool();
    work('retries', pool, async (job) => {
      if (job.attemptsMade < 2 && job.data.n % 3 === 0) throw new Error('not yet');
      return { n: job.data.n, attempts: job.attemptsMade };
    });
    await waitFor(async () => (await queue.getCompletedCount()) === 30, { what: 'all jobs' });
    const jobs = await queue.getJobs(['completed'], 0, 100);
    for (const job of jobs) {
      assert.deepEqual(job.returnvalue, { n: job.data.n, attempts: job.data.n % 3 === 0 ? 2 : 0 });
    }
  });

  it("obey the workers' rate limit", async () => {
    await filled('limited', 12);
    const { pool } = watchedPool();
    let ran = 0;
    const since = performance.now();
    started('limited', async () => ++ran, { connection: pool, concurrency: 12, limiter: { max: 4, duration: 300 } });
    await waitFor(() => ran === 12, { what: 'all jobs' });
    assert.ok(performance.now() - since >= 600, 'the third window of 300 ms begins after 600 ms');
  });

  it('are sent one by one, with one warning, when the database has other functions', async () => {
    const other = await testDatabase({ name: 'other functions' });
    const pool = new pg.Pool({ connectionString: other.url, max: 9, options: '-c search_path=bullmq' });
    pools.push(pool);
    await pool.query(`do $$ begin
      execute regexp_replace(pg_get_functiondef('publish_event'::regproc), 'begin', 'begin -- changed' || chr(10), 'i');
    end $$`);
    warnings.length = 0;
    const queue = new Queue('other', { connection: pool } as never, createPostgresBackend as never);
    open.push(queue);
    await queue.addBulk(Array.from({ length: 60 }, (_, n) => ({ name: 'j', data: { n }, opts: KEEP_NOTHING })));
    let ran = 0;
    work('other', pool, async () => ++ran);
    await waitFor(async () => (await queue.getJobCountByTypes('waiting', 'active')) === 0, { what: 'an empty queue' });
    assert.equal(ran, 60);
    assert.equal(warnings.length, 1, warnings.join());
    assert.match(warnings[0] as string, /not the version that Muster batches/);
    await Promise.all(open.splice(0).map((one) => (one instanceof Worker ? one.close(true) : one.close())));
    await pools.pop()?.end();
    await other.drop();
  });
});

/** Jobs start as they arrive, many are fetched at once, and a job with a lost lock is dropped. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { Queue, type WorkerOptions } from 'bullmq';
import { Redis } from 'ioredis';
import { type Backend, chooseBackend } from '../../../src/imports/queue/backend.ts';
import { EagerWorker, LostLocks } from '../../../src/imports/queue/worker.ts';
import { BACKENDS } from '../../support/processes/service.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const PREFIX = 'eager';

interface Stage {
  db: TestDatabase;
  name: string;
  /** Jobs can wait for this; it is released at the end of the test, whatever its outcome. */
  release: PromiseWithResolvers<void>;
  add(count: number): Promise<void>;
  work(run: (id: string) => Promise<void>, options?: Partial<WorkerOptions>): Watched;
  left(): Promise<number>;
}

/** Counts how many fetches ran at once, and how many jobs were fetched. */
class Watched extends EagerWorker<unknown> {
  fetched = 0;
  calls = 0;
  atOnce = 0;
  mostAtOnce = 0;
  /** While set, fetches fail with this error. */
  fault: Error | undefined;

  override async getNextJob(...args: Parameters<EagerWorker<unknown>['getNextJob']>) {
    this.calls++;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    try {
      if (this.fault) throw this.fault;
      return await super.getNextJob(...args);
    } finally {
      this.atOnce--;
    }
  }
}

for (const kind of BACKENDS) {
  test(`the first job starts before the next is fetched, and then many are fetched at once (${kind})`, async (t) => {
    const stage = await setUp(t, kind);
    if (!stage) return;
    await stage.add(60);
    const { release } = stage;
    let fetchedBefore: number | undefined;
    let running = 0;
    const worker = stage.work(
      async () => {
        fetchedBefore ??= worker.fetched;
        running++;
        await release.promise;
      },
      { concurrency: 50 },
    );
    await waitFor(() => running === 50, { what: 'all jobs that may run' });
    assert.ok((fetchedBefore as number) <= 1, `${fetchedBefore} were fetched before the first started`);
    assert.equal(worker.mostAtOnce, 4);
    release.resolve();
    await waitFor(async () => (await stage.left()) === 0, { what: 'all jobs to end' });
    assert.equal(running, 60);
  });

  test(`a job with a lost lock is dropped, reported once, and delays no other job (${kind})`, async (t) => {
    const stage = await setUp(t, kind);
    if (!stage) return;
    await stage.add(6);
    const { release } = stage;
    const ran = new Set<string>();
    const errors: Error[] = [];
    const worker = stage.work(
      async (id) => {
        ran.add(id);
        await release.promise;
      },
      { concurrency: 3 },
    );
    let failed = 0;
    worker.on('error', (error) => errors.push(error));
    worker.on('failed', () => failed++);
    await waitFor(() => ran.size === 3, { what: 'three jobs' });
    const [first, second] = [...ran] as [string, string];
    await takeLock(stage, kind, first);
    await takeLock(stage, kind, second);
    release.resolve();
    await waitFor(async () => (await stage.left()) === 2 && ran.size === 6, { what: 'the other four to end' });
    await waitFor(() => errors.length > 0, { what: 'the lost locks to be reported' });
    assert.equal(failed, 0);
    assert.deepEqual(
      errors.map((error) => error instanceof LostLocks && error.jobs),
      [2],
    );
  });

  test(`locks are renewed while the jobs run (${kind})`, async (t) => {
    const stage = await setUp(t, kind);
    if (!stage) return;
    await stage.add(20);
    const { release } = stage;
    let running = 0;
    const renewed = new Set<string>();
    const worker = stage.work(
      () => {
        running++;
        return release.promise;
      },
      // Locks last much longer than the test; `lockRenewTime` alone decides when they are renewed.
      { concurrency: 20, lockDuration: 60_000, lockRenewTime: 400 },
    );
    worker.on('locksRenewed', ({ jobIds }) => {
      for (const id of jobIds) renewed.add(id);
    });
    await waitFor(() => running === 20, { what: 'all jobs' });
    await waitFor(() => renewed.size === 20, { what: 'all locks to be renewed' });
    release.resolve();
    await waitFor(async () => (await stage.left()) === 0, { what: 'all jobs to end' });
  });
}

test('after an error of the store, the worker pauses before it asks again, and can be closed meanwhile', async (t) => {
  const stage = await setUp(t, 'postgres');
  if (!stage) return;
  const worker = stage.work(async () => {}, { concurrency: 5, runRetryDelay: 600_000, autorun: false });
  const errors: Error[] = [];
  worker.on('error', (error) => errors.push(error));
  worker.fault = new Error('read ECONNRESET');
  const over = worker.run();
  await waitFor(() => errors.length > 0, { what: 'the error to be reported' });
  for (let turn = 0; turn < 100; turn++) await new Promise((next) => setImmediate(next));
  assert.equal(worker.calls, 1);
  assert.deepEqual(errors, [worker.fault]);
  await Promise.all([worker.close(), over]);
});

/** Takes away a job's lock, as if it had expired and another worker had the job. */
async function takeLock({ db, name }: Stage, kind: Backend['kind'], id: string): Promise<void> {
  if (kind === 'postgres') {
    await db.pool.query(`update bullmq.job set lock_token = 'another' where queue = $1 and id = $2`, [name, id]);
    return;
  }
  const redis = new Redis(redisUrl() as string);
  await redis.set(`${PREFIX}:${name}:${id}:lock`, 'another');
  redis.disconnect();
}

async function setUp(t: TestContext, kind: Backend['kind']): Promise<Stage | undefined> {
  if (kind === 'redis' && !requireOrSkip(t, 'redis')) return undefined;
  const db = await testDatabase({ name: `eager_${kind}` });
  const REDIS_URL = kind === 'redis' ? redisUrl() : undefined;
  const backend = chooseBackend({ DATABASE_URL: db.url, REDIS_URL, QUEUE_PREFIX: 'eager' });
  const name = `q${randomBytes(6).toString('hex')}`;
  const common = { prefix: PREFIX };
  const connections: unknown[] = [];
  const opened = (connection: unknown) => {
    connections.push(connection);
    return connection;
  };
  const queue = new Queue(name, { ...common, connection: opened(backend.producer(0, 'imports')) }, backend.factory);
  queue.on('error', () => {}); // a connection that ends with its database
  const open: EagerWorker<unknown>[] = [];
  const release = Promise.withResolvers<void>();
  t.after(async () => {
    release.resolve();
    await Promise.all([...open.map((worker) => worker.close()), queue.close()]);
    await Promise.all(connections.map((connection) => backend.disconnect(connection)));
    await db.drop();
  });
  return {
    db,
    name,
    release,
    async add(count) {
      const opts = backend.jobOptions;
      await queue.addBulk(
        Array.from({ length: count }, (_, n) => ({ name: 'j', data: {}, opts: { ...opts, jobId: `j${n}` } })),
      );
    },
    work(run, options) {
      const worker = new Watched(
        name,
        ({ id }) => run(id as string),
        {
          ...common,
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
          ...options,
          connection: opened(backend.worker(0, 'imports')),
        },
        backend.factory,
      );
      worker.on('active', () => worker.fetched++);
      worker.on('error', () => {}); // a test that expects errors adds its own listener
      open.push(worker);
      return worker;
    },
    async left() {
      const counts = await queue.getJobCounts('waiting', 'active');
      return Object.values(counts).reduce((a, b) => a + b, 0);
    },
  };
}

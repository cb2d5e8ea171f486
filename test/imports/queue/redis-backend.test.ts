/** Merged calls of BullMQ's scripts have the same effect on each job as single calls. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  type BackendFactory,
  createRedisBackend,
  type IQueueBackend,
  type Job,
  type JobsOptions,
  Queue,
  Worker,
} from 'bullmq';
import { Redis } from 'ioredis';
import { withBatchedScripts } from '../../../src/imports/queue/backend.ts';
import { redisUrl } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const PREFIX = `batch-${process.pid}`;

type Factory = BackendFactory<IQueueBackend, unknown>;
const PLAIN = createRedisBackend as Factory;
const BATCHED = withBatchedScripts(PLAIN, (reason) => assert.doesNotMatch(reason, /not the version/));
const backendOf = (batches: boolean) => (batches ? BATCHED : PLAIN);

describe('scripts of BullMQ on Redis', { skip: redisUrl() ? false : 'this test run has no Redis' }, () => {
  const url = redisUrl() as string;
  let redis: Redis;
  /** Queues and workers of the current test. */
  const open: Array<Queue | Worker> = [];
  const connections: Redis[] = [];
  before(() => {
    redis = new Redis(url);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => (one instanceof Worker ? one.close(true) : one.close())));
    for (const connection of connections.splice(0)) connection.disconnect();
  });
  after(() => redis.disconnect());

  /** `calls` are the scripts that were sent, and for how many jobs each. */
  function connect(): { connection: Redis; calls: string[] } {
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    connections.push(connection);
    const calls: string[] = [];
    const send = connection.sendCommand.bind(connection);
    connection.sendCommand = (command, stream) => {
      if (command.name === 'evalsha') calls.push(String(command.args[1]));
      return send(command, stream);
    };
    return { connection, calls };
  }
  function queueOf(name: string, batches = true): Queue {
    const { connection } = connect();
    const queue = new Queue(name, { connection, prefix: PREFIX }, backendOf(batches));
    open.push(queue as unknown as Queue);
    return queue as unknown as Queue;
  }
  async function filled(name: string, jobs: number, options: JobsOptions = {}): Promise<Queue> {
    const queue = queueOf(name);
    const all = Array.from({ length: jobs }, (_, n) => ({
      name: 'j',
      data: { n },
      opts: { ...options, jobId: `j${n}` },
    }));
    assert.deepEqual(
      (await queue.addBulk(all)).map((job) => job.id),
      all.map(({ opts }) => opts.jobId),
    );
    return queue;
  }
  function work(name: string, processor: (job: Job) => Promise<unknown>, options: object = {}, batches = true) {
    const { connection, calls } = connect();
    const worker = new Worker(
      name,
      processor,
      { connection, prefix: PREFIX, concurrency: 50, ...options },
      backendOf(batches),
    );
    open.push(worker as unknown as Worker);
    return { worker: worker as unknown as Worker, calls };
  }
  const empty = async (queue: Queue) => (await queue.getJobCountByTypes('waiting', 'active')) === 0;

  /** The options of a job, but for its id, which is not stored among them when jobs are added in common. */
  function ownOptions(opts: string): unknown {
    const { jobId, ...rest } = JSON.parse(opts);
    return rest;
  }

  it('are merged, and every job runs once', async () => {
    const queue = await filled('batched', 600);
    const seen: number[] = [];
    const note = async (job: Job) => void seen.push(job.data.n);
    const { calls } = work('batched', note, { removeOnComplete: { count: 0 } });
    await waitFor(() => empty(queue), { what: 'an empty queue' });
    assert.deepEqual(
      seen.sort((a, b) => a - b),
      Array.from({ length: 600 }, (_, n) => n),
    );
    assert.ok(calls.length < 300, `${calls.length} calls for 600 jobs`);
  });

  it('leave the same jobs, lists and events as BullMQ', async () => {
    const kept: unknown[] = [];
    for (const batches of [false, true]) {
      const name = `kept-${batches}`;
      const queue = queueOf(name, batches);
      await queue.addBulk(Array.from({ length: 30 }, (_, n) => ({ name: 'j', data: { n }, opts: { jobId: `j${n}` } })));
      await queue.addBulk([
        { name: 'j', data: { n: 7 }, opts: { jobId: 'j7' } },
        { name: 'j', data: {}, opts: { jobId: 'last' } },
      ]);
      await queue.addBulk(['second', 'first'].map((jobId) => ({ name: 'j', data: {}, opts: { jobId, lifo: true } })));
      const waiting = await redis.lrange(`${PREFIX}:${name}:wait`, 0, -1);
      // One after the other, so that the events of both runs have the same order.
      work(name, async (job) => ({ n: job.data.n }), { concurrency: 1 }, batches);
      await waitFor(() => empty(queue), { what: 'an empty queue' });
      const events = await redis.xrange(`${PREFIX}:${name}:events`, '-', '+');
      const jobs = await Promise.all(waiting.map((id) => redis.hgetall(`${PREFIX}:${name}:${id}`)));
      kept.push({
        waiting,
        events: events.map(([, fields]) => fields),
        jobs: jobs.map(({ timestamp, processedOn, finishedOn, opts = '{}', ...rest }) => ({
          ...rest,
          opts: ownOptions(opts),
        })),
        keys: (await redis.keys(`${PREFIX}:${name}:*`)).map((key) => key.slice(`${PREFIX}:${name}`.length)).sort(),
      });
    }
    assert.deepEqual(kept[1], kept[0]);
  });

  it('of a single job are not merged', async () => {
    const queue = await filled('lone', 1);
    const done: unknown[] = [];
    const { worker } = work('lone', async () => 'result');
    worker.on('completed', (_job, result) => done.push(result));
    await waitFor(() => done.length === 1, { what: 'the job' });
    assert.equal(await queue.getCompletedCount(), 1);
  });

  it('of jobs with lost locks or broken data fail alone', async () => {
    const queue = await filled('lost', 40);
    const errors = new Set<string>();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let running = 0;
    const { worker } = work('lost', async () => {
      running++;
      await held;
    });
    worker.on('error', (error) => errors.add(/j\d+/.exec(error.message)?.[0] ?? error.message.split(' ')[0] ?? ''));
    await waitFor(() => running === 40, { what: 'all jobs to run' });
    for (const id of ['j3', 'j7']) await redis.set(`${PREFIX}:lost:${id}:lock`, 'somebody else');
    await redis.del(`${PREFIX}:lost:j9`);
    await redis.set(`${PREFIX}:lost:j9`, 'no hash');
    release();
    await waitFor(() => queue.getCompletedCount().then((n) => n === 37), { what: 'the others' });
    await waitFor(() => errors.size >= 3, { what: 'three refusals' });
    assert.ok(errors.has('j3') && errors.has('j7') && errors.has('WRONGTYPE'), [...errors].join());
  });

  it('leave failures, retries and results to BullMQ', async () => {
    const queue = await filled('retries', 30, { attempts: 3 });
    work('retries', async (job) => {
      if (job.attemptsMade < 2 && job.data.n % 3 === 0) throw new Error('not yet');
      return { n: job.data.n, attempts: job.attemptsMade };
    });
    await waitFor(async () => (await queue.getCompletedCount()) === 30, { what: 'all jobs' });
    for (const job of await queue.getJobs(['completed'], 0, 100)) {
      assert.deepEqual(job.returnvalue, { n: job.data.n, attempts: job.data.n % 3 === 0 ? 2 : 0 });
    }
  });

  it("obey the workers' rate limit", async () => {
    await filled('limited', 12);
    let ran = 0;
    const since = performance.now();
    work('limited', async () => ++ran, { limiter: { max: 4, duration: 300 } });
    await waitFor(() => ran === 12, { what: 'all jobs' });
    assert.ok(performance.now() - since >= 600, 'the third window of 300 ms begins after 600 ms');
  });

  it('are sent again after Redis lost its scripts', async () => {
    const queue = await filled('flushed', 300);
    let ran = 0;
    work('flushed', async () => {
      if (++ran % 40 === 0) await redis.script('FLUSH');
    });
    await waitFor(() => empty(queue), { what: 'an empty queue' });
    assert.equal(ran, 300);
  });
});

/** A batched call leaves what BullMQ's scripts leave for each job, or nothing is batched; no job is lost when it fails midway. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test, { after, afterEach, before, describe, it } from 'node:test';
import {
  type BackendFactory,
  createRedisBackend,
  type IQueueBackend,
  Job,
  type JobsOptions,
  Queue,
  Worker,
} from 'bullmq';
import { Redis } from 'ioredis';
import { withBatchedScripts } from '../../../src/imports/queue/backend.ts';
import { isKnownScript } from '../../../src/imports/queue/batching.ts';
import { openQueues } from '../../../src/imports/queue/queues.ts';
import { SCRIPTS } from '../../../src/imports/queue/redis-scripts.ts';
import { redisUrl } from '../../support/stores/redis.ts';

const PREFIX = `common-${process.pid}`;
type Way = 'as BullMQ' | 'in common' | 'in common or refused' | { failingAtWrite: number };
type Factory = BackendFactory<IQueueBackend, unknown>;
const PLAIN = createRedisBackend as Factory;
/** BullMQ's backend, whose calls for single jobs are an error. */
const REFUSING: Factory = (...args) => {
  const backend = PLAIN(...args);
  const refuse = () => Promise.reject(new Error('ALONE'));
  Object.assign(backend, { addJobs: refuse, moveToCompleted: refuse });
  return backend;
};
/** The commands of the batched scripts that write. */
const WRITES = ['DEL', 'HSET', 'INCRBY', 'LPUSH', 'LREM', 'LTRIM', 'RPUSH', 'SET', 'SREM', 'XADD', 'XTRIM', 'ZADD'];

/** Returns the script with an error in place of its n-th write. */
function failing(batch: string, atWrite: number): string {
  assert.match(batch, /local call = redis\.call\n/);
  const isWrite = WRITES.map((name) => `${name} = true`).join(', ');
  return batch.replace(
    'local call = redis.call',
    `local isWrite, writes = {${isWrite}}, 0
    local function call(name, ...)
      if isWrite[name] then writes = writes + 1 end
      if isWrite[name] and writes == ${atWrite} then error('INJECTED') end
      return redis.call(name, ...)
    end`,
  );
}

describe('jobs added and ended in common', { skip: redisUrl() ? false : 'there is no Redis' }, () => {
  const url = redisUrl() as string;
  let redis: Redis;
  const open: Array<Queue | Worker> = [];
  const connections: Redis[] = [];
  const warnings: string[] = [];
  before(() => {
    redis = new Redis(url);
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => (one instanceof Worker ? one.close(true) : one.close())));
    for (const connection of connections.splice(0)) connection.disconnect();
  });
  after(async () => {
    const keys = await redis.keys(`${PREFIX}:*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });

  function connect(way: Way): Redis {
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    connections.push(connection);
    if (typeof way === 'string') return connection;
    const define = connection.defineCommand.bind(connection);
    connection.defineCommand = (name, script) => {
      const { lua } = script as { lua: string };
      const isOurs = name.startsWith('batched:');
      define(name, { ...script, lua: isOurs ? failing(lua, way.failingAtWrite) : lua } as typeof script);
    };
    return connection;
  }
  /** Refused: BullMQ's call, which is made for each job where nothing was done in common, is an error. */
  const backendOf = (way: Way): Factory =>
    way === 'as BullMQ'
      ? PLAIN
      : withBatchedScripts(way === 'in common or refused' ? REFUSING : PLAIN, (reason) => warnings.push(reason));
  function queueOf(name: string, way: Way, maxLen?: number): Queue {
    const settings = { connection: connect(way), prefix: PREFIX };
    const streams = maxLen === undefined ? {} : { streams: { events: { maxLen } } };
    const queue = new Queue(name, { ...settings, ...streams }, backendOf(way)) as unknown as Queue;
    open.push(queue);
    return queue;
  }
  function workerOf(name: string, way: Way, options: object = {}): Worker {
    const settings = { connection: connect(way), prefix: PREFIX, autorun: false, removeOnComplete: { count: 0 } };
    const worker = new Worker(name, undefined, { ...settings, ...options }, backendOf(way)) as unknown as Worker;
    open.push(worker);
    return worker;
  }
  const add = (queue: Queue, ids: string[], options: JobsOptions = {}) =>
    queue.addBulk(ids.map((id) => ({ name: 'j', data: { id, text: 'é"' }, opts: { ...options, jobId: id } })));
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `j${from + n}`);
  async function take(worker: Worker, count: number): Promise<Job[]> {
    const jobs: Job[] = [];
    for (let n = 0; n < count; n++) jobs.push((await worker.getNextJob(`token:${n}`)) as Job);
    return jobs;
  }
  /** At one moment; answers what BullMQ hands out next, or its refusal. */
  async function end(jobs: Job[], result: unknown = { text: 'é"' }): Promise<unknown[]> {
    const ends = jobs.map((job, n) => job.moveToCompleted(result, job.token ?? `token:${n}`, true));
    const answers = await Promise.allSettled(ends);
    return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : String(answer.reason)));
  }
  /** All that there is of a queue, but for what differs between any two. */
  async function kept(name: string): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const key of (await redis.keys(`${PREFIX}:${name}:*`)).sort()) {
      found[key.slice(`${PREFIX}:${name}:`.length)] = await contentOf(key);
    }
    return found;
  }
  async function contentOf(key: string): Promise<unknown> {
    const type = await redis.type(key);
    if (type === 'list') return redis.lrange(key, 0, -1);
    if (type === 'set') return (await redis.smembers(key)).sort();
    if (type === 'zset') return redis.zrange(key, '0', '-1', 'WITHSCORES');
    if (type === 'stream') return (await redis.xrange(key, '-', '+')).map(([, fields]) => fields);
    if (type === 'string') return [await redis.get(key), (await redis.pttl(key)) > 0];
    const { timestamp, processedOn, opts = '{}', ...rest } = await redis.hgetall(key);
    const { jobId, ...ownOptions } = JSON.parse(opts);
    return { ...rest, opts: ownOptions, timestamp: Boolean(timestamp), processedOn: Boolean(processedOn) };
  }
  /** Without times, and without the id among the options, where jobs that are added in common do not have it. */
  const comparable = (answers: unknown) =>
    JSON.parse(JSON.stringify(answers).replaceAll(/\d{13}/g, '5'), (key, value) =>
      key === 'jobId' ? undefined : value,
    );

  it('leave the keys that BullMQ leaves, and hand out the same jobs', async () => {
    const seen: unknown[][] = [];
    for (const way of ['as BullMQ', 'in common or refused'] as const) {
      const name = way === 'as BullMQ' ? 'theirs' : 'ours';
      const queue = queueOf(name, way);
      await queue.waitUntilReady();
      await add(queue, ids(0, 60));
      await add(queue, ids(60, 66), { attempts: 3 });
      await add(queue, ids(66, 70), { lifo: true });
      const steps: unknown[] = [await kept(name)];
      const worker = workerOf(name, way, { name: 'worker' });
      let jobs = await take(worker, 12);
      // Started once before, as after a stall; the first of a call and another one.
      for (const id of ['j14', 'j20']) {
        await redis.hset(`${PREFIX}:${name}:${id}`, { processedOn: 5, pb: 'another', ats: 4, stc: 1 } as never);
      }
      await redis.sadd(`${PREFIX}:${name}:stalled`, 'j1', 'j2', 'other');
      // In the fifth round less wait than end, in the last nothing does.
      for (let round = 0; round < 6; round++) {
        if (round === 1) await redis.set(`${PREFIX}:${name}:pc`, 1);
        const answers = await end(jobs, round === 2 ? undefined : { text: 'é"' });
        steps.push(comparable(answers), await kept(name));
        const next = await redis.lrange(`${PREFIX}:${name}:active`, 0, -1);
        jobs = await Promise.all(next.reverse().map(async (id) => (await Job.fromId(worker as never, id)) as Job));
      }
      seen.push(steps);
    }
    assert.deepEqual(seen[1], seen[0]);
  });

  it('hand out a job whose fields Redis keeps in another order', async () => {
    const long = 'x'.repeat(200);
    const given: unknown[] = [];
    for (const way of ['as BullMQ', 'in common or refused'] as const) {
      const name = `long-${way.slice(0, 2)}`;
      const queue = queueOf(name, way);
      await queue.waitUntilReady();
      await queue.addBulk(ids(0, 20).map((id) => ({ name: 'j', data: { id, long }, opts: { jobId: id } })));
      given.push(comparable(await end(await take(workerOf(name, way), 5))));
    }
    assert.deepEqual(given[1], given[0]);
  });

  it('keep the event stream short', async () => {
    const queue = queueOf('short', 'in common or refused', 100);
    await queue.waitUntilReady();
    await add(queue, ids(0, 1000));
    assert.ok((await redis.xlen(`${PREFIX}:short:events`)) <= 300);
  });

  it('write no events where the queue keeps none', async () => {
    const queue = queueOf('silent', 'in common or refused', 0);
    await queue.waitUntilReady();
    await add(queue, ids(0, 20));
    assert.equal(await redis.exists(`${PREFIX}:silent:events`), 0);
    await end(await take(workerOf('silent', 'in common or refused'), 5));
    assert.equal(await redis.xlen(`${PREFIX}:silent:events`), 0);
    assert.equal(await redis.llen(`${PREFIX}:silent:active`), 5);
  });

  it('of our queues leave no events', async () => {
    const queues = openQueues({ DATABASE_URL: 'postgres://unused', REDIS_URL: url, QUEUE_PREFIX: `${PREFIX}-own` });
    const jobs = ids(0, 20).map((id) => ({ id, data: {} }));
    for (const name of ['imports', 'mails'] as const) {
      await queues.add(name, jobs);
      assert.equal(await redis.xlen(`${PREFIX}-own:${PREFIX}-own-${name}:events`), 0);
      await queues.drop(name);
    }
    await queues.close();
  });

  const beforeAnEnd: Record<string, (name: string, queue: Queue) => Promise<unknown>> = {
    'a lock that was lost': (name) => redis.set(`${PREFIX}:${name}:j3:lock`, 'other'),
    'a lock that ran out': (name) => redis.del(`${PREFIX}:${name}:j3:lock`),
    'a job that is gone': (name) => redis.del(`${PREFIX}:${name}:j3`),
    'a job that is no hash': (name) => redis.set(`${PREFIX}:${name}:j3`, 'x'),
    'a job that is not active': (name) => redis.lrem(`${PREFIX}:${name}:active`, 0, 'j3'),
    'a job with a priority': (_, queue) => queue.add('j', {}, { priority: 5 }),
    'a next job that is gone': (name) => redis.del(`${PREFIX}:${name}:j6`),
    'a paused queue': (_, queue) => queue.pause(),
    'a limit on jobs at once': (_, queue) => queue.setGlobalConcurrency(100),
    'a rate limit': (_, queue) => queue.setGlobalRateLimit(1000, 1000),
    'a delayed job': (_, queue) => queue.add('j', {}, { delay: 60_000 }),
    'a parent': (name) => redis.hset(`${PREFIX}:${name}:j3`, { parentKey: 'p:q:1' }),
    deduplication: (name) => redis.hset(`${PREFIX}:${name}:j3`, { deid: 'd' }),
    'a child': (name) => redis.sadd(`${PREFIX}:${name}:j3:dependencies`, 'c'),
    'logs of a job': (name) => redis.rpush(`${PREFIX}:${name}:j3:logs`, 'c'),
  };
  for (const [what, put] of Object.entries(beforeAnEnd)) {
    it(`end nothing in common with ${what}`, async () => {
      const name = `end-${what.replaceAll(' ', '-')}`;
      const queue = queueOf(name, 'in common or refused');
      await queue.waitUntilReady();
      await add(queue, ids(0, 20));
      const jobs = await take(workerOf(name, 'in common or refused'), 5);
      await put(name, queue);
      const before = await kept(name);
      for (const answer of await end(jobs)) assert.match(String(answer), /ALONE/);
      assert.deepEqual(activeSorted(await kept(name)), activeSorted(before));
    });
  }
  /** Which jobs are active is kept, their order means nothing. */
  const activeSorted = (all: Record<string, unknown>) => ({ ...all, active: [...(all.active as string[])].sort() });

  it('end nothing in common where jobs are kept', async () => {
    const queue = queueOf('kept', 'in common or refused');
    await queue.waitUntilReady();
    await add(queue, ids(0, 20));
    const jobs = await take(workerOf('kept', 'in common or refused', { removeOnComplete: { count: 5 } }), 5);
    for (const answer of await end(jobs)) assert.match(String(answer), /ALONE/);
  });

  const beforeAnAdd: Record<string, [(name: string, queue: Queue) => Promise<unknown>, JobsOptions?]> = {
    'a job that exists': [(name) => redis.hset(`${PREFIX}:${name}:j3`, { name: 'j' })],
    'a paused queue': [(_, queue) => queue.pause()],
    'a limit on jobs at once': [(_, queue) => queue.setGlobalConcurrency(100)],
    'another option': [async () => {}, { removeOnComplete: true }],
    deduplication: [async () => {}, { deduplication: { id: 'd' } }],
  };
  for (const [what, [put, options]] of Object.entries(beforeAnAdd)) {
    it(`add nothing in common with ${what}`, async () => {
      const name = `add-${what.replaceAll(' ', '-')}`;
      const queue = queueOf(name, 'in common or refused');
      await queue.waitUntilReady();
      await put(name, queue);
      const before = await kept(name);
      await assert.rejects(add(queue, ids(0, 5), options), /ALONE/);
      assert.deepEqual(await kept(name), before);
    });
  }

  it('add an id once that comes twice', async () => {
    const queue = queueOf('twice', 'in common');
    await queue.waitUntilReady();
    await add(queue, ['j0', 'j1', 'j0']);
    assert.deepEqual(await redis.lrange(`${PREFIX}:twice:wait`, 0, -1), ['j1', 'j0']);
  });

  // The oldest are the last of the active list, which are removed by one command.
  for (const [which, older] of [
    ['the oldest', 0],
    ['the latest', 3],
  ] as const) {
    it(`lose no job and complete each of ${which} when a batched completion fails at any of its writes`, async () => {
      const [ended, left] = [ids(older, older + 5), [...ids(0, older), ...ids(older + 5, 12)]];
      for (let write = 1; ; write++) {
        const name = `fails-at-${write}-${older}`;
        const queue = queueOf(name, 'in common');
        await add(queue, ids(0, 12));
        const jobs = await take(workerOf(name, { failingAtWrite: write }), older + 5);
        warnings.length = 0;
        const answers = await end(jobs.slice(older));
        if (warnings.length === 0) {
          assert.ok(write > 20, `only ${write} writes`);
          break;
        }
        assert.match(warnings.join(), /INJECTED/);
        for (const answer of answers) assert.ok(typeof answer !== 'string', `write ${write}: ${answer}`);
        const all = await kept(name);
        const [waiting, active] = [all.wait, all.active].map((list) => (list ?? []) as string[]);
        assert.deepEqual([...(waiting ?? []), ...(active ?? [])].sort(), left.sort(), `write ${write}`);
        for (const id of left) assert.ok(all[id], `write ${write}: ${id} has no data`);
        for (const id of ended)
          assert.deepEqual([all[id], all[`${id}:lock`]], [undefined, undefined], `write ${write}`);
      }
    });
  }

  it('add every job once when a batched addition fails at any of its writes', async () => {
    const whole = async (way: Way, name: string) => {
      const queue = queueOf(name, way);
      await queue.waitUntilReady();
      await add(queue, ids(0, 5));
      const { id, events, meta, ...rest } = await kept(name);
      return rest;
    };
    const theirs = await whole('as BullMQ', 'adds');
    for (let write = 1; ; write++) {
      warnings.length = 0;
      assert.deepEqual(await whole({ failingAtWrite: write }, `add-fails-at-${write}`), theirs, `write ${write}`);
      if (warnings.length === 0) {
        assert.ok(write > 15, `only ${write} writes`);
        return;
      }
      assert.match(warnings.join(), /INJECTED/);
    }
  });

  it('are sent one by one, with one warning, when BullMQ loads another script', async () => {
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    connections.push(connection);
    warnings.length = 0;
    const define = connection.defineCommand.bind(connection);
    connection.defineCommand = (name, script) => {
      const { lua } = script as { lua: string };
      define(name, { ...script, lua: name.startsWith('addStandardJob') ? `${lua}\n-- changed` : lua } as typeof script);
    };
    const queue = new Queue('other', { connection, prefix: PREFIX }, backendOf('in common')) as unknown as Queue;
    open.push(queue);
    await add(queue, ids(0, 20));
    assert.equal(await redis.llen(`${PREFIX}:other:wait`), 20);
    assert.equal(warnings.length, 1, warnings.join());
    assert.match(warnings[0] as string, /addStandardJob.* is not the version that Muster batches/);
  });
});

test('the scripts of BullMQ that are batched are those of the digests', () => {
  const scripts: Record<string, { name: string; content: string }> = createRequire(import.meta.url)(
    '../../../node_modules/bullmq/dist/cjs/scripts',
  );
  for (const name of Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[]) {
    const texts = Object.values(scripts).filter((script) => script.name === name);
    assert.deepEqual(
      texts.map(({ content }) => isKnownScript(name, content)),
      [true],
    );
  }
  assert.equal(isKnownScript('moveToFinished', 'return 1'), false);
});

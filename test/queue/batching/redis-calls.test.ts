/** What is done in common leaves just what BullMQ's scripts leave for each job, or nothing is done in common. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { after, afterEach, before, describe, it } from 'node:test';
import { createRedisBackend, Job, type JobsOptions, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { type Kind, kindOf, mergedScript } from '../../../src/queue/batching/redis-calls.ts';
import { mergeScripts } from '../../../src/queue/batching/redis-connection.ts';
import { redisUrl } from '../../support/stores/redis.ts';

const PREFIX = `common-${process.pid}`;
const REFUSE = `return redis.error_reply('ALONE')`;
type Way = 'as BullMQ' | 'in common' | 'in common or refused';

describe('jobs added and ended in common', { skip: redisUrl() ? false : 'there is no Redis' }, () => {
  const url = redisUrl() as string;
  let redis: Redis;
  const open: Array<Queue | Worker> = [];
  const connections: Redis[] = [];
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

  /** Refused: BullMQ's text, which is called for each where nothing was done in common, is an error. */
  function connect(way: Way): Redis {
    const connection = new Redis(url, { maxRetriesPerRequest: null });
    connections.push(connection);
    if (way === 'as BullMQ') return connection;
    if (way === 'in common or refused') {
      const define = connection.defineCommand.bind(connection);
      connection.defineCommand = (name, script) => {
        const isOurs = name.endsWith(':merged');
        define(name, isOurs ? { ...script, lua: mergedScript(REFUSE, kindOf(name) as Kind) } : script);
      };
    }
    return mergeScripts(connection);
  }
  function queueOf(name: string, way: Way): Queue {
    const queue = new Queue(name, { connection: connect(way), prefix: PREFIX }, createRedisBackend);
    open.push(queue as Queue);
    return queue as Queue;
  }
  function workerOf(name: string, way: Way, options: object = {}): Worker {
    const settings = { connection: connect(way), prefix: PREFIX, autorun: false, removeOnComplete: { count: 0 } };
    const worker = new Worker(name, undefined, { ...settings, ...options }, createRedisBackend);
    open.push(worker as Worker);
    return worker as Worker;
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
  async function end(jobs: Job[]): Promise<unknown[]> {
    const ends = jobs.map((job, n) => job.moveToCompleted(n % 2 ? undefined : { n, text: 'é"' }, `token:${n}`, true));
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
    const { timestamp, processedOn, ...rest } = await redis.hgetall(key);
    return { ...rest, timestamp: Boolean(timestamp), processedOn: Boolean(processedOn) };
  }
  const comparable = (answers: unknown) => JSON.parse(JSON.stringify(answers).replaceAll(/\d{13}/g, '5'));

  it('leave the keys that BullMQ leaves, and hand out the same jobs', async () => {
    const seen: unknown[][] = [];
    for (const way of ['as BullMQ', 'in common or refused'] as const) {
      const name = way === 'as BullMQ' ? 'theirs' : 'ours';
      const queue = queueOf(name, way);
      await queue.waitUntilReady();
      await add(queue, ids(0, 60));
      await add(queue, ids(60, 70), { attempts: 3, priority: 0 });
      const steps: unknown[] = [await kept(name)];
      const worker = workerOf(name, way, { name: 'worker' });
      let jobs = await take(worker, 12);
      // Started once before, as after a stall.
      await redis.hset(`${PREFIX}:${name}:j14`, { ats: 4, pb: 'another', processedOn: 5 } as never);
      await redis.sadd(`${PREFIX}:${name}:stalled`, 'j1', 'j2', 'other');
      // In the fifth round less wait than end, in the last nothing does.
      for (let round = 0; round < 6; round++) {
        if (round === 1) await redis.set(`${PREFIX}:${name}:pc`, 1);
        const answers = await end(jobs);
        steps.push(comparable(answers), await kept(name));
        const next = await redis.lrange(`${PREFIX}:${name}:active`, 0, -1);
        jobs = await Promise.all(next.reverse().map(async (id) => (await Job.fromId(worker as never, id)) as Job));
      }
      seen.push(steps);
    }
    assert.deepEqual(seen[1], seen[0]);
  });

  it('keep the event stream short', async () => {
    const streams = { events: { maxLen: 100 } };
    const connection = connect('in common or refused');
    const queue = new Queue('short', { connection, prefix: PREFIX, streams }, createRedisBackend) as Queue;
    open.push(queue);
    await queue.waitUntilReady();
    await add(queue, ids(0, 1000));
    assert.ok((await redis.xlen(`${PREFIX}:short:events`)) <= 300);
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
    'a job that goes first': [async () => {}, { lifo: true }],
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

  it('are written for these scripts of BullMQ: after an upgrade compare, then put the new digests here', () => {
    const require = createRequire(import.meta.url);
    const scripts: Record<string, { name: string; content: string; keys: number }> =
      require('../../../node_modules/bullmq/dist/cjs/scripts');
    const digests = Object.values(scripts)
      .filter(({ name }) => kindOf(name))
      .map(({ name, content, keys }) => [
        name,
        keys === kindOf(name)?.keys,
        createHash('sha256').update(content).digest('hex').slice(0, 16),
      ]);
    assert.deepEqual(digests, [
      ['addStandardJob', true, '2eee45c9ffc54d24'],
      ['moveToFinished', true, '8e744ec5d65dbe9e'],
    ]);
  });
});

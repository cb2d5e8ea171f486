/**
 * A Redis that answers but cannot serve: replica after a failover, full, locked, restarted empty. Workers retry slowly
 * and recover.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { Redis } from 'ioredis';
import { openQueues } from '../../../src/imports/queue/queues.ts';
import { openCondition } from '../../../src/platform/lifecycle.ts';
import { findProgram } from '../../support/runner/programs.ts';
import { requireOrSkip, startRedis } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const PATIENT = { timeoutMs: 30_000 };
const cutAll = (redis: Redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');

/** A fault of the server, its repair, and the error message (`says`) that workers get. */
const FAULTS: Record<
  string,
  { strike(redis: Redis): Promise<unknown>; repair(redis: Redis): Promise<unknown>; says: RegExp }
> = {
  'is a replica': {
    strike: (redis) => redis.replicaof('127.0.0.1', 1),
    repair: (redis) => redis.replicaof('NO', 'ONE'),
    says: /READONLY/,
  },
  'is full': {
    strike: (redis) => redis.config('SET', 'maxmemory', '1'),
    repair: (redis) => redis.config('SET', 'maxmemory', '0'),
    says: /OOM/,
  },
  'asks for a password': {
    strike: async (redis) => {
      await redis.config('SET', 'requirepass', 'secret');
      await cutAll(redis);
    },
    repair: (redis) => redis.config('SET', 'requirepass', ''),
    says: /NOAUTH/,
  },
};

for (const [what, { strike, repair, says }] of Object.entries(FAULTS)) {
  test(`a worker whose Redis ${what} retries slowly, and recovers afterwards`, async (t) => {
    const world = await open(t);
    if (!world) return;
    const { redis, queues, ran, faults, condition } = world;
    await queues.add('imports', [{ id: 'j1', data: {} }]);
    await waitFor(() => ran.has('j1'), { what: 'the first job', ...PATIENT });

    const [began, before] = [performance.now(), faults.length];
    await strike(redis);
    await waitFor(() => faults.slice(before).filter(({ message }) => says.test(message)).length > 2, {
      what: 'the worker to get the error',
      ...PATIENT,
    });
    assert.deepEqual(
      condition.failures().map(({ part }) => part),
      ['imports queue'],
    );
    const most = 20 + (performance.now() - began) / 50;
    assert.ok(faults.length - before < most, `${faults.length - before} faults, ${most} at most`);

    await repair(redis);
    await waitFor(() => queues.add('imports', [{ id: 'j2', data: {} }]).then(() => true), {
      what: 'to add',
      ...PATIENT,
    });
    await waitFor(() => ran.has('j2'), { what: 'the second job', ...PATIENT });
    await waitFor(() => condition.failures().length === 0, { what: 'the worker to report success', ...PATIENT });
  });
}

test('a worker continues after Redis lost all data and scripts', async (t) => {
  const world = await open(t);
  if (!world) return;
  const { redis, queues, ran } = world;
  for (let round = 0; round < 3; round++) {
    await queues.add('imports', [{ id: `j${round}`, data: {} }]);
    await waitFor(() => ran.has(`j${round}`), { what: 'the job', ...PATIENT });
    await redis.flushall();
    await redis.script('FLUSH');
    if (round > 0) await cutAll(redis);
  }
});

async function open(t: TestContext) {
  if (!requireOrSkip(t, 'redis')) return undefined;
  const server = await startRedis(findProgram('redis') as string);
  const redis = new Redis(server.url);
  const condition = openCondition();
  const faults: Error[] = [];
  const ran = new Set<string>();
  const queues = openQueues({
    DATABASE_URL: '',
    REDIS_URL: server.url,
    QUEUE_PREFIX: `t${randomBytes(6).toString('hex')}`,
    condition,
    onError: (error) => faults.push((error.cause ?? error) as Error),
  });
  const worker = queues.work('imports', async ({ id }) => void ran.add(id as string), { concurrency: 4 });
  t.after(async () => {
    await worker.stop();
    await queues.close();
    redis.disconnect();
    await server.stop();
  });
  return { redis, queues, condition, faults, ran };
}

/** Jobs on the shards of a queue: where they are, and that workers with other numbers of shards find them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { openQueues } from '../../../src/imports/queue/queues.ts';
import { shardsOn, slotOf } from '../../../src/imports/queue/shards.ts';
import type { RedisServer } from '../../../src/platform/redis-urls.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const CLUSTER: RedisServer = { kind: 'cluster', nodes: [], login: {}, tls: false };
const SINGLE: RedisServer = { kind: 'single', url: '' };

test('as many shards as a Cluster has masters are on different masters', () => {
  for (const prefix of ['muster', 'a', 'another-service']) {
    for (const masters of [2, 3, 4, 6, 8]) {
      const slots: number[] = shardsOn([CLUSTER], masters, prefix).map((shard) => slotOf(shard.prefix.slice(1, -1)));
      const owners: Set<number> = new Set(slots.map((slot) => Math.floor((slot * masters) / 16_384)));
      assert.equal(owners.size, masters, `${prefix} on ${masters} masters`);
    }
  }
});

test('the keys of a shard do not depend on the number of shards', () => {
  const few = shardsOn([CLUSTER], 3, 'muster');
  assert.deepEqual(shardsOn([CLUSTER], 32, 'muster').slice(0, 3), few);
  assert.equal(new Set(shardsOn([CLUSTER], 32, 'muster').map(({ prefix }) => prefix)).size, 32);
});

test('without a Cluster, the first shard has the keys of a queue without shards', () => {
  const [first, second, third] = shardsOn([SINGLE, SINGLE], 3, 'muster');
  assert.deepEqual(first, { number: 0, server: 0, prefix: 'muster' });
  assert.deepEqual([second?.server, third?.server], [1, 0]);
  assert.match(String(second?.prefix), /^\{muster:1[.\d]*\}$/);
});

test('a slot is the one that the specification gives', () => {
  assert.deepEqual([slotOf('123456789'), slotOf('foo')], [0x31c3, 12_182]);
});

test('jobs are on all shards, and every worker takes all of them, whatever number of shards it has', async (t) => {
  if (!requireOrSkip(t, 'redis')) return;
  const QUEUE_PREFIX = `t${randomBytes(6).toString('hex')}`;
  const open = (QUEUE_SHARDS: number) =>
    openQueues({ DATABASE_URL: '', REDIS_URL: redisUrl(), QUEUE_PREFIX, QUEUE_SHARDS });
  const [one, three] = [open(1), open(3)];
  t.after(() => Promise.all([one.close(), three.close()]));
  const jobs = Array.from({ length: 300 }, (_, n) => ({ id: `j${n}`, data: {}, shardNumber: n + 7 }));
  for (const [adding, taking] of [
    [one, three],
    [three, one],
  ] as const) {
    await adding.add('imports', jobs);
    assert.deepEqual([await adding.depth('imports'), await one.depth('imports')], [300, adding === one ? 300 : 100]);
    const ran = new Map<string | undefined, number>();
    const worker = taking.work('imports', async ({ id }) => void ran.set(id, (ran.get(id) ?? 0) + 1), {
      concurrency: 30,
    });
    try {
      await waitFor(() => ran.size === 300, { what: 'all jobs', timeoutMs: 60_000 });
      await waitFor(async () => (await three.depth('imports')) === 0, { what: 'the queue to be empty' });
      assert.deepEqual(new Set(ran.values()), new Set([1]));
      await waitFor(async () => (await taking.workers('imports')) === 1, { what: 'the worker to be counted once' });
    } finally {
      await worker.stop();
    }
  }
});

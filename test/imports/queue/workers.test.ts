/** Worker processes of one queue: they are counted, and each obeys its limit. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { openQueues, type Queues } from '../../../src/imports/queue/queues.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

for (const kind of ['postgres', 'redis'] as const) {
  test(`a limited worker on ${kind} finishes its jobs, then takes fewer at once`, async (t) => {
    const queues = await open(t, kind);
    if (!queues) return;
    const inProgress = new Map<string, () => void>();
    let most = 0;
    const take = ({ id }: { id?: string | undefined }) =>
      new Promise<void>((done) => {
        inProgress.set(id as string, done);
        most = Math.max(most, inProgress.size);
      });
    const end = (count: number) => {
      for (const [id, done] of [...inProgress].slice(0, count)) {
        inProgress.delete(id);
        done();
      }
    };
    await queues.add(
      'imports',
      Array.from({ length: 40 }, (_, n) => ({ id: `j${n}`, data: {} })),
    );
    const worker = queues.work('imports', take, { concurrency: 6 });
    try {
      await waitFor(async () => inProgress.size === 6, { what: 'six jobs' });
      await waitFor(async () => (await queues.workers('imports')) === 1, { what: 'the worker to be counted' });

      worker.limit(2);
      end(4);
      most = 0;
      for (let left = 36; left > 0; left--) {
        await waitFor(async () => (await queues.depth('imports')) === left, { what: `${left} jobs` });
        await waitFor(async () => inProgress.size > 0, { what: 'the next job' });
        assert.ok(most <= 2, `${most} at once`);
        end(1);
      }
    } finally {
      end(6);
      await worker.stop();
    }
  });
}

async function open(t: TestContext, kind: 'postgres' | 'redis'): Promise<Queues | undefined> {
  if (kind === 'redis' && !requireOrSkip(t, 'redis')) return undefined;
  const db = await testDatabase({ name: `workers_${kind}` });
  const queues = openQueues({
    DATABASE_URL: db.url,
    QUEUE_PREFIX: `t${randomBytes(6).toString('hex')}`,
    REDIS_URL: kind === 'redis' ? redisUrl() : undefined,
  });
  t.after(async () => {
    await queues.close();
    await db.drop();
  });
  return queues;
}

/** The queue's store is unavailable at first, or becomes so later: workers and producers work again when it is back. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { openQueues, type Queues } from '../../../src/imports/queue/queues.ts';
import { type Condition, openCondition } from '../../../src/platform/lifecycle.ts';
import { withTimeout } from '../../../src/platform/timeouts.ts';
import { type Gate, type Manner, startGate } from '../../support/stores/gate.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

interface World {
  gate: Gate;
  queues: Queues;
  condition: Condition;
  /** Ids of the jobs that have run. */
  ran: Set<string>;
  faults: Error[];
  /** Adds jobs through the gate, which must be open. */
  add(...ids: string[]): Promise<void>;
}

const MANNERS: Manner[] = ['refuse', 'reset'];
const PATIENT = { timeoutMs: 30_000 };

for (const kind of ['postgres', 'redis'] as const) {
  for (const manner of MANNERS) {
    const how = manner === 'refuse' ? 'refuses' : 'resets';
    test(`a worker and a producer that start while ${kind} ${how} connections work once it is available`, async (t) => {
      const world = await open(t, kind, manner);
      if (!world) return;
      const stop = work(t, world);
      await assert.rejects(world.queues.add('imports', [{ id: 'j0', data: {} }]));
      await assertCalm(world, manner);

      await world.gate.open();
      await waitFor(() => world.queues.check().then(() => true), { what: 'the producer', ...PATIENT });
      await world.add('j1', 'j2');
      await waitFor(() => world.ran.has('j1') && world.ran.has('j2'), { what: 'the jobs', ...PATIENT });
      assert.deepEqual(world.condition.failures(), []);
      await stop();
    });

    test(`a worker whose ${kind} ${how} connections later retries slowly, and continues when it is back`, async (t) => {
      const world = await open(t, kind, manner);
      if (!world) return;
      await world.gate.open();
      const stop = work(t, world);
      await world.add('j1');
      await waitFor(() => world.ran.has('j1'), { what: 'the first job', ...PATIENT });

      await world.gate.shut(manner);
      await assertCalm(world, manner);
      await world.gate.open();
      await waitFor(() => world.queues.check().then(() => true), { what: 'the producer', ...PATIENT });
      await world.add('j2');
      await waitFor(() => world.ran.has('j2'), { what: 'the second job', ...PATIENT });
      await waitFor(() => world.condition.failures().length === 0, {
        what: 'the worker to report success',
        ...PATIENT,
      });
      await waitFor(async () => (await world.queues.workers('imports')) === 1, {
        what: 'the worker to be counted',
        ...PATIENT,
      });
      await stop();
    });
  }

  for (const manner of MANNERS) {
    test(`a worker that has run a job stops while ${kind} ${manner === 'refuse' ? 'refuses' : 'resets'} connections`, async (t) => {
      const world = await open(t, kind, manner);
      if (!world) return;
      await world.gate.open();
      const stop = work(t, world);
      await world.add('j1');
      await waitFor(() => world.ran.has('j1'), { what: 'the first job', ...PATIENT });
      await world.gate.shut(manner);
      await waitFor(() => world.condition.failures().length > 0, { what: 'the worker to fail', ...PATIENT });
      await withTimeout(stop(), 30_000, 'the stop');
    });
  }

  test(`a worker stops at once while ${kind} is unavailable`, async (t) => {
    const world = await open(t, kind, 'refuse');
    if (!world) return;
    const worker = world.queues.work('imports', async () => {}, { concurrency: 2 });
    await waitFor(() => world.faults.length > 0, { what: 'a fault', ...PATIENT });
    await worker.stop();
  });
}

/** The worker fails a few times, not thousands of times, which would flood the log and waste processor time. */
async function assertCalm({ condition, faults, gate }: World, manner: Manner): Promise<void> {
  const [began, before, resetsBefore] = [performance.now(), faults.length, gate.resets];
  await waitFor(() => condition.failures().some(({ part }) => part === 'imports queue') && faults.length > before + 2, {
    what: 'the worker to fail',
    ...PATIENT,
  });
  const most = 20 + (performance.now() - began) / 50;
  assert.ok(faults.length - before < most, `${faults.length - before} faults, ${most} at most`);
  if (manner === 'reset') assert.ok(gate.resets - resetsBefore < most, `${gate.resets} connections`);
}

function work(t: TestContext, { queues, ran }: World): () => Promise<void> {
  const worker = queues.work('imports', async ({ id }) => void ran.add(id as string), { concurrency: 4 });
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= worker.stop();
    return stopped;
  };
  t.after(stop);
  return stop;
}

async function open(t: TestContext, kind: 'postgres' | 'redis', manner: Manner): Promise<World | undefined> {
  if (kind === 'redis' && !requireOrSkip(t, 'redis')) return undefined;
  const db = await testDatabase({ name: `away_${kind}` });
  const gate = await startGate(kind === 'redis' ? (redisUrl() as string) : db.url, manner);
  const condition = openCondition();
  const faults: Error[] = [];
  const queues = openQueues({
    DATABASE_URL: kind === 'postgres' ? gate.url : db.url,
    REDIS_URL: kind === 'redis' ? gate.url : undefined,
    QUEUE_PREFIX: `t${randomBytes(6).toString('hex')}`,
    condition,
    onError: (error) => faults.push(error),
  });
  t.after(async () => {
    await queues.close();
    await gate.stop();
    await db.drop();
  });
  const add = (...ids: string[]) =>
    queues.add(
      'imports',
      ids.map((id) => ({ id, data: {} })),
    );
  return { gate, queues, condition, ran: new Set(), faults, add };
}

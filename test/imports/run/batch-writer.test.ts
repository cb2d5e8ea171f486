import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatchFault, type BatchWriterSettings, createBatchWriter } from '../../../src/imports/run/batch-writer.ts';
import { fakeStore, turns } from '../../support/imports/batch-store.ts';

const SETTINGS: BatchWriterSettings = {
  maxBatch: 100,
  maxFlushes: 4,
  maxFlushesPerImport: 2,
  fill: { items: 1, ms: 0 },
  retryMs: { first: 1, last: 2 },
};

/** A promise that the test settles. */
function gate() {
  return Promise.withResolvers<void>();
}

describe('batch writer', () => {
  it('writes a lone job at once, without any timer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const store = fakeStore();
    assert.equal(await createBatchWriter(store, SETTINGS).add('a', 7), 'done');
    assert.deepEqual(store.calls, [{ importId: 'a', ordinals: [7] }]);
  });

  it('batches jobs that arrive together, and jobs that arrive during a write, in order', async () => {
    const open = gate();
    const store = fakeStore({ during: (_, [first]) => (first === 1 ? open.promise : undefined) });
    const writer = createBatchWriter(store, { ...SETTINGS, maxFlushesPerImport: 1 });
    const jobs = [3, 1, 2].map((o) => writer.add('a', o));
    await turns(2);
    jobs.push(...[9, 8, 4].map((o) => writer.add('a', o)));
    await turns(2);
    open.resolve();
    assert.deepEqual(await Promise.all(jobs), Array(6).fill('done'));
    assert.deepEqual(
      store.calls.map((c) => c.ordinals),
      [
        [1, 2, 3],
        [4, 8, 9],
      ],
    );
  });

  it('writes an item once when two jobs bring it', async () => {
    const store = fakeStore({ sealed: (_, o) => o === 2 });
    const writer = createBatchWriter(store, SETTINGS);
    const jobs = [2, 1, 2, 1].map((o) => writer.add('a', o));
    assert.deepEqual(await Promise.all(jobs), ['needs-hash', 'done', 'needs-hash', 'done']);
    assert.deepEqual(
      store.calls.map((c) => c.ordinals),
      [[1, 2]],
    );
  });

  it('settles a job only after the write that decided it', async () => {
    const open = gate();
    const writer = createBatchWriter(fakeStore({ during: () => open.promise }), SETTINGS);
    let settled = false;
    const job = writer.add('a', 1).then(() => {
      settled = true;
    });
    await turns(5);
    assert.equal(settled, false);
    open.resolve();
    await job;
  });

  it('does not let the only item of an import wait for more', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = fakeStore();
    const writer = createBatchWriter(store, { ...SETTINGS, fill: { items: 3, ms: 5 } });
    await Promise.all([writer.add('a', 1), writer.add('a', 2)]);
    await turns(2);
    const only = writer.add('b', 0, true);
    await turns(3);
    assert.deepEqual(
      store.calls.map((c) => c.ordinals),
      [[1, 2], [0]],
    );
    await only;
  });

  it('lets the next batch fill for a moment only right after a batch of several', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 1000;
    t.mock.method(performance, 'now', () => now);
    const store = fakeStore();
    const writer = createBatchWriter(store, { ...SETTINGS, fill: { items: 3, ms: 5 } });
    const sizes = () => store.calls.map((c) => c.ordinals.length);
    await Promise.all([writer.add('a', 1), writer.add('a', 2)]);
    await turns(2);
    const late = [writer.add('a', 3), writer.add('a', 4)];
    await turns(3);
    assert.deepEqual(sizes(), [2], 'the batch may still fill');
    t.mock.timers.tick(5);
    await Promise.all(late);
    assert.deepEqual(sizes(), [2, 2], 'the time to fill is over');
    await turns(2);
    await Promise.all([5, 6, 7].map((o) => writer.add('a', o)));
    assert.deepEqual(sizes(), [2, 2, 3], 'the batch is full');
    await turns(2);
    now += 1000;
    await writer.add('a', 8);
    assert.deepEqual(sizes(), [2, 2, 3, 1], 'the writer was idle');
    await turns(2);
    await writer.add('a', 9);
    assert.deepEqual(sizes(), [2, 2, 3, 1, 1], 'no waiting after a batch of one');
  });

  it('lets imports take turns', async () => {
    const store = fakeStore();
    const writer = createBatchWriter(store, { ...SETTINGS, maxBatch: 2, maxFlushes: 1 });
    await Promise.all([...[0, 1, 2, 3, 4, 5].map((o) => writer.add('big', o)), writer.add('small', 0)]);
    assert.deepEqual(
      store.calls.map((c) => c.importId),
      ['big', 'small', 'big', 'big'],
    );
  });

  it('retries after connection errors, with pauses that grow up to a maximum', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = fakeStore({ troubles: ['retry', 'retry', 'retry', 'retry'] });
    const faults: string[] = [];
    const onFault = (fault: BatchFault) => faults.push(fault.kind);
    const writer = createBatchWriter(store, { ...SETTINGS, retryMs: { first: 10, last: 25 }, onFault });
    const job = writer.add('a', 1);
    await turns(3);
    for (const [i, pause] of [10, 20, 25, 25].entries()) {
      t.mock.timers.tick(pause - 1);
      await turns(3);
      assert.equal(store.calls.length, i + 1, `no retry before ${pause} ms`);
      t.mock.timers.tick(1);
      await turns(3);
      assert.equal(store.calls.length, i + 2, `a retry after ${pause} ms`);
    }
    assert.equal(await job, 'done');
    assert.deepEqual(faults, Array(4).fill('retry'));
  });

  it('retries a batch that fails for an unknown reason a few times, then fails the items that cause it', async () => {
    const once = fakeStore({ troubles: ['unknown', 'unknown', 'unknown', 'unknown'] });
    assert.equal(await createBatchWriter(once, SETTINGS).add('a', 1), 'done');
    assert.deepEqual([once.poisoned, once.calls.length], [[], 5]);
    const ever = fakeStore({ troubles: Array(100).fill('unknown') });
    const faults: string[] = [];
    const writer = createBatchWriter(ever, { ...SETTINGS, onFault: ({ kind }) => faults.push(kind) });
    assert.deepEqual(await Promise.all([1, 2, 3].map((o) => writer.add('a', o))), ['done', 'done', 'done']);
    assert.deepEqual(ever.poisoned, ['a/1', 'a/2', 'a/3']);
    assert.equal(ever.calls.length, 5 + 4, 'each half is attempted once');
    assert.deepEqual(new Set(faults), new Set(['other']));
  });

  it('blocks only the import whose writes fail', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = fakeStore({ troubles: ['retry'] });
    const writer = createBatchWriter(store, { ...SETTINGS, maxFlushesPerImport: 1 });
    const stuck = writer.add('a', 1);
    await turns(2);
    assert.equal(await writer.add('b', 1), 'done');
    t.mock.timers.tick(1);
    assert.equal(await stuck, 'done');
  });

  it('stops retrying on stop: items that cannot be written are rejected with their fault', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = fakeStore({ troubles: Array(1000).fill('retry') });
    const writer = createBatchWriter(store, SETTINGS);
    const jobs = [writer.add('a', 1), writer.add('a', 2)];
    const settled = Promise.allSettled(jobs);
    await turns(3);
    writer.stop();
    t.mock.timers.tick(1);
    for (const job of await settled) {
      assert.equal(job.status, 'rejected');
      assert.ok(job.reason instanceof BatchFault);
      assert.match(String((job.reason.cause as Error).message), /the connection broke/);
    }
    assert.equal(store.calls.length, 2);
  });

  it('still writes the items of jobs in progress after stop', async () => {
    const store = fakeStore();
    const writer = createBatchWriter(store, SETTINGS);
    writer.stop();
    assert.equal(await writer.add('a', 1), 'done');
    await assert.rejects(createStopped(fakeStore({ troubles: ['retry'] })).add('a', 1), BatchFault);
  });

  it('fails a refused item alone, and rejects it alone when even failing it is impossible', async () => {
    const refused = (_: string, o: number) => o === 5;
    const good = fakeStore({ refused });
    const writer = createBatchWriter(good, SETTINGS);
    assert.deepEqual(await Promise.all([4, 5, 6].map((o) => writer.add('a', o))), ['done', 'done', 'done']);
    assert.deepEqual(good.poisoned, ['a/5']);
    const bad = createBatchWriter(fakeStore({ refused, poisonFails: true }), SETTINGS);
    const jobs = await Promise.allSettled([4, 5, 6].map((o) => bad.add('a', o)));
    assert.deepEqual(
      jobs.map((j) => j.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });
});

function createStopped(store: ReturnType<typeof fakeStore>) {
  const writer = createBatchWriter(store, SETTINGS);
  writer.stop();
  return writer;
}

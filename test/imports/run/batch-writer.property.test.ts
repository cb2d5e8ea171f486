/** In any order of jobs and with any failures of the database, every job settles once, with the right outcome. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createBatchWriter } from '../../../src/imports/run/batch-writer.ts';
import fc from '../../support/fast-check.ts';
import { type FakePlan, fakeStore, key, turns } from '../../support/imports/batch-store.ts';

const IMPORTS = ['a', 'b', 'c'];
const subset = fc.uniqueArray(fc.nat(30));

const scenario = fc.record({
  jobs: fc.uniqueArray(fc.record({ importId: fc.constantFrom(...IMPORTS), ordinal: fc.nat(30), pause: fc.nat(3) }), {
    selector: (j) => key(j.importId, j.ordinal),
    maxLength: 50,
  }),
  maxBatch: fc.integer({ min: 1, max: 8 }),
  maxFlushes: fc.integer({ min: 1, max: 4 }),
  maxFlushesPerImport: fc.integer({ min: 1, max: 3 }),
  fill: fc.record({ items: fc.integer({ min: 1, max: 12 }), ms: fc.nat(2) }),
  // Without `unknown` faults: enough of them fail items, as batch-writer.test.ts shows.
  troubles: fc.array(fc.constantFrom('none' as const, 'none' as const, 'retry' as const), {
    maxLength: 20,
  }),
  refused: subset,
  sealed: subset,
  stopped: fc.subarray(IMPORTS, { maxLength: 1 }),
  slowness: fc.array(fc.nat(4), { minLength: 1, maxLength: 10 }),
});

test('every job settles exactly once, within all limits', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (s) => {
      const isRefused = (_: string, o: number) => s.refused.includes(o);
      const isSealed = (_: string, o: number) => s.sealed.includes(o);
      const isStopped = (importId: string) => s.stopped.includes(importId);
      let writes = 0;
      const during: FakePlan['during'] = () => turns(s.slowness[writes++ % s.slowness.length] as number);
      const store = fakeStore({
        troubles: s.troubles,
        refused: isRefused,
        sealed: isSealed,
        stopped: isStopped,
        during,
      });
      const writer = createBatchWriter(store, { ...s, retryMs: { first: 0, last: 1 } });

      const outcomes = [];
      for (const job of s.jobs) {
        await turns(job.pause);
        outcomes.push(writer.add(job.importId, job.ordinal));
      }
      const got = await Promise.all(outcomes);

      const running = s.jobs.filter((j) => !isStopped(j.importId));
      const [bad, good] = [
        running.filter((j) => isRefused('', j.ordinal)),
        running.filter((j) => !isRefused('', j.ordinal)),
      ];
      const keys = (jobs: typeof running) => jobs.map((j) => key(j.importId, j.ordinal)).sort();
      assert.deepEqual(store.written.sort(), keys(good), 'each good item is written once, nothing else');
      assert.deepEqual(store.poisoned.sort(), keys(bad), 'each refused item is failed once, nothing else');
      assert.deepEqual(
        got,
        s.jobs.map((j) => (good.includes(j) && isSealed('', j.ordinal) ? 'needs-hash' : 'done')),
      );
      for (const { ordinals } of store.calls) {
        assert.ok(ordinals.length >= 1 && ordinals.length <= s.maxBatch);
        assert.deepEqual(
          ordinals,
          ordinals.toSorted((a, b) => a - b),
        );
      }
      assert.ok(store.most.flushes <= s.maxFlushes);
      assert.ok(store.most.perImport <= s.maxFlushesPerImport);
    }),
    { numRuns: 150 },
  );
});

test('an item that two jobs bring is written, and both settle', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(5), { maxLength: 20 }), subset, async (ordinals, refused) => {
      const store = fakeStore({ refused: (_, o) => refused.includes(o) });
      const writer = createBatchWriter(store, {
        maxBatch: 4,
        maxFlushes: 2,
        maxFlushesPerImport: 2,
        fill: { items: 1, ms: 0 },
        retryMs: { first: 0, last: 1 },
      });
      const got = await Promise.all(ordinals.map((o) => writer.add('a', o)));
      assert.deepEqual(got, Array(ordinals.length).fill('done'));
      const settled = new Set([...store.written, ...store.poisoned]);
      assert.deepEqual(settled, new Set(ordinals.map((o) => key('a', o))));
      for (const call of store.calls) assert.equal(new Set(call.ordinals).size, call.ordinals.length);
    }),
    { numRuns: 50 },
  );
});

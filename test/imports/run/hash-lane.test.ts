/** The slots for hashing: turns of organizations and imports, and what is dropped. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { QueryConfig } from 'pg';
import { HandBack } from '../../../src/imports/queue/worker.ts';
import { openHashLane } from '../../../src/imports/run/hash-lane.ts';
import type { Db } from '../../../src/platform/db/pool.ts';
import { waitFor } from '../../support/wait.ts';

/** A lane with one slot, whose work is done in the order of `done` after `open`. */
function openLane() {
  const running = new Map<string, string>();
  const asked = new Set<string>();
  const query = async ({ values: [ids] = [[]] }: QueryConfig<[string[]]>) => {
    for (const id of ids) asked.add(id);
    return { rows: [...running].filter(([id]) => ids.includes(id)).map(([id, org]) => ({ id, org })) };
  };
  const lane = openHashLane({ query } as unknown as Db, 1, assert.ifError);
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const begin = (importId: string, count: number) =>
    Array.from({ length: count }, () =>
      lane.run(importId, async () => {
        done.push(importId);
        await gate.promise;
      }),
    );
  const isWaiting = (importId: string) => waitFor(() => asked.has(importId), { what: `import ${importId}` });
  return { lane, running, gate, done, begin, isWaiting };
}

test('organizations take turns, and so do the imports of each', async () => {
  const { running, gate, done, begin, isWaiting } = openLane();
  running.set('1', 'a').set('2', 'a').set('3', 'b');
  const all = begin('1', 6);
  await waitFor(() => done.length === 1, { what: 'the first to begin' });
  all.push(...begin('2', 2), ...begin('3', 3));
  await isWaiting('2');
  await isWaiting('3');
  gate.resolve();
  assert.deepEqual(await Promise.all(all), Array(11).fill(true));
  const orgs = done.map((id) => running.get(id));
  assert.deepEqual(orgs.slice(1, 7).sort(), ['a', 'a', 'a', 'b', 'b', 'b']);
  assert.deepEqual(done.filter((id) => id !== '3').slice(0, 5), ['1', '1', '2', '1', '2']);
});

test('the work of an import that stops is dropped while a slot is busy, that of others is not', async () => {
  const { running, gate, done, begin } = openLane();
  running.set('1', 'a').set('2', 'a');
  const [first, ...others] = begin('1', 100);
  await waitFor(() => done.length === 1, { what: 'the first to begin' });
  const left = begin('2', 2);
  running.delete('1');
  assert.deepEqual(new Set(await Promise.all(others)), new Set([false]));
  running.set('1', 'a');
  const resumed = begin('1', 2);
  gate.resolve();
  assert.deepEqual(await Promise.all([first, ...left, ...resumed]), Array(5).fill(true));
  assert.equal(done.length, 5);
});

test('no work begins for an import that does not run', async () => {
  const { done, begin } = openLane();
  assert.deepEqual(await Promise.all(begin('1', 2)), [false, false]);
  assert.deepEqual(done, []);
});

test('what waits is handed back when the lane stops, and what has begun ends', async () => {
  const { lane, running, gate, done, begin } = openLane();
  running.set('1', 'a');
  const [first, ...others] = begin('1', 3);
  await waitFor(() => done.length === 1, { what: 'the first to begin' });
  lane.stop();
  for (const one of others) await assert.rejects(one, HandBack);
  await assert.rejects(
    lane.run('1', async () => {}),
    HandBack,
  );
  gate.resolve();
  assert.equal(await first, true);
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { type FairQueueOptions, openFairQueue, type WaitOptions } from '../../src/platform/fair-queue.ts';

/** Work that runs until the test ends it, in the order in which it began. */
function bench(options: FairQueueOptions) {
  const queue = openFairQueue({ refuse: (why) => new Error(`refused: ${why}`), ...options });
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  return {
    queue,
    begun,
    add: (key: string, name: string, wait?: WaitOptions) =>
      queue.run(
        key,
        () => {
          begun.push(name);
          return new Promise<string>((resolve, reject) =>
            ends.push((error) => (error ? reject(error) : resolve(name))),
          );
        },
        wait,
      ),
    /** Ends the work that began first of what runs. */
    async end(error?: Error) {
      ends.shift()?.(error);
      await setImmediate();
    },
  };
}

describe('a fair queue', () => {
  it('serves keys in turn (round robin), and the work of one key in order', async () => {
    const { begun, add, end } = bench({ limit: 2 });
    for (const n of [1, 2, 3, 4, 5, 6]) void add('big', `big${n}`);
    for (const n of [1, 2]) void add('small', `small${n}`);
    void add('other', 'other1');
    await setImmediate();
    assert.deepEqual(begun, ['big1', 'big2'], 'no more at once than allowed');
    for (let n = 0; n < 7; n++) await end();
    assert.deepEqual(begun.slice(2), ['big3', 'small1', 'other1', 'big4', 'small2', 'big5', 'big6']);
  });

  it('returns the result of the work, and frees the slot of work that fails, at once or later', async () => {
    const { queue, begun, add, end } = bench({ limit: 1 });
    const [first, second] = [add('a', 'first'), add('a', 'second')];
    const failed = assert.rejects(first, /broken/);
    await setImmediate();
    await end(new Error('broken'));
    await failed;
    await end();
    assert.equal(await second, 'second');
    const throws = (): Promise<string> => {
      throw new Error('thrown');
    };
    await assert.rejects(queue.run('a', throws), /thrown/);
    void add('a', 'third');
    await setImmediate();
    assert.deepEqual(begun, ['first', 'second', 'third']);
  });

  it('limits each key, and lets another key pass what waits for its own key', async () => {
    const { queue, begun, add, end } = bench({ limit: 3, limitPerKey: 1 });
    for (const n of [1, 2, 3]) void add('a', `a${n}`);
    void add('b', 'b1');
    await setImmediate();
    assert.deepEqual(begun, ['a1', 'b1']);
    assert.deepEqual(Object.fromEntries(queue.held), { a: 1, b: 1 });
    await end();
    assert.deepEqual(begun, ['a1', 'b1', 'a2']);
    for (let n = 0; n < 3; n++) await end();
    assert.deepEqual([begun.at(-1), queue.held.size], ['a3', 0], 'keys without work are forgotten');
  });

  it('keeps the reserve for keys without a slot, also while others wait', async () => {
    const { queue, begun, add, end } = bench({ limit: 3, reserve: 1 });
    for (const n of [1, 2, 3, 4]) void add('a', `a${n}`);
    await setImmediate();
    assert.deepEqual([queue.freeFor(0), queue.freeFor(1)], [1, 0]);
    assert.throws(() => queue.take('a'), /refused: reserve/);
    void add('b', 'b1');
    void add('b', 'b2');
    await setImmediate();
    assert.deepEqual(begun, ['a1', 'a2', 'b1']);
    await end();
    assert.deepEqual(begun.slice(3), [], 'the slot that became free is the reserve now');
    await end();
    assert.deepEqual(begun.slice(3), ['a3']);
  });

  it('drops work whose signal is aborted while it waits, and does not begin work whose signal was aborted', async () => {
    const { queue, begun, add, end } = bench({ limit: 1, longestWait: 10 });
    const caller = new AbortController();
    const first = add('a', 'first', { signal: caller.signal });
    const gone = assert.rejects(add('a', 'dropped', { cost: 10, signal: caller.signal }), /gone/);
    await assert.rejects(add('a', 'refused'), /refused: limit/);
    caller.abort(new Error('gone'));
    await gone;
    void add('a', 'next');
    void add('b', 'last');
    for (let n = 0; n < 3; n++) await end();
    assert.equal(await first, 'first', 'work that runs is not interrupted');
    assert.deepEqual(begun, ['first', 'next', 'last']);
    await assert.rejects(add('a', 'late', { signal: caller.signal }), /gone/);
    assert.equal(queue.held.size, 0);
  });

  it('refuses work that would wait too long, and work for whose key too much waits', async () => {
    const { add } = bench({ limit: 2, limitPerKey: 1, longestWait: 50, mostWaitingPerKey: 2 });
    for (const [key, cost] of Object.entries({ a: 1, b: 1 })) void add(key, key, { cost });
    void add('a', 'a2', { cost: 20 });
    void add('a', 'a3', { cost: 20 });
    await assert.rejects(add('a', 'a4'), /refused: key/);
    void add('c', 'c1', { cost: 60 });
    await assert.rejects(add('d', 'd1'), /refused: limit/);
  });

  it('lends slots without waiting, which count like those of work', async () => {
    const { queue, begun, add } = bench({ limit: 2, limitPerKey: 1 });
    const ends = [queue.take('a'), queue.take('b')];
    assert.throws(() => queue.take('a'), /refused: key/);
    assert.throws(() => queue.take('c'), /refused: limit/);
    void add('c', 'c1');
    await setImmediate();
    assert.deepEqual(begun, []);
    for (const end of ends) end();
    await setImmediate();
    assert.deepEqual([begun, Object.fromEntries(queue.held)], [['c1'], { c: 1 }]);
  });

  it('begins nothing after it was stopped, and finishes what it had begun', async () => {
    const { queue, begun, add, end } = bench({ limit: 1 });
    const [first, ...others] = [add('a', 'first'), add('a', 'second'), add('b', 'third')];
    await setImmediate();
    queue.stop(new Error('stopped'));
    for (const other of [...others, add('c', 'fourth')]) await assert.rejects(other, /stopped/);
    await end();
    assert.equal(await first, 'first');
    assert.deepEqual(begun, ['first']);
  });
});

/** What happens to a queue: work of a key comes, the work that runs longest ends, or the work that waits is aborted. */
type Step = { add: string } | { end: number } | { abort: number };

const KEYS = ['a', 'b', 'c', 'd'];
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: fc.constantFrom(...KEYS) }) },
  { weight: 2, arbitrary: fc.record({ end: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ abort: fc.nat(20) }) },
);
const OPTIONS = fc.record({ limit: fc.integer({ min: 1, max: 4 }), limitPerKey: fc.integer({ min: 1, max: 3 }) });

interface Task {
  key: string;
  state: 'waits' | 'runs' | 'over';
  signal: AbortController;
  end(): void;
}

it('a fair queue keeps its limits, wastes no slot, and begins the work of a key in order, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(OPTIONS, fc.nat(2), fc.array(STEP, { maxLength: 60 }), async (limits, kept, steps) => {
      const reserve = Math.min(kept, limits.limit - 1);
      const queue = openFairQueue({ ...limits, reserve });
      const tasks: Task[] = [];
      for (const step of steps) {
        await take(step);
        verify();
      }
      for (let left = tasks.length; left > 0; left--) {
        await take({ end: 0 });
        verify();
      }
      assert.deepEqual([queue.held.size, tasks.every(({ state }) => state === 'over')], [0, true]);

      async function take(step: Step): Promise<void> {
        if ('add' in step) begin(step.add);
        else if ('end' in step) nth('runs', step.end)?.end();
        else nth('waits', step.abort)?.signal.abort();
        await setImmediate();
      }
      function nth(state: Task['state'], n: number): Task | undefined {
        const found = tasks.filter((task) => task.state === state);
        return found[n % found.length];
      }
      function begin(key: string): void {
        const { promise, resolve } = Promise.withResolvers<void>();
        const task: Task = { key, state: 'waits', signal: new AbortController(), end: resolve };
        tasks.push(task);
        const work = () => {
          const before = tasks.slice(0, tasks.indexOf(task)).filter((other) => other.key === key);
          assert.ok(!before.some(({ state }) => state === 'waits'), 'in order');
          task.state = 'runs';
          return promise;
        };
        const over = () => {
          task.state = 'over';
        };
        queue.run(key, work, { signal: task.signal.signal }).then(over, over);
      }
      function verify(): void {
        const running = tasks.filter(({ state }) => state === 'runs');
        const counts = KEYS.map((key) => running.filter((task) => task.key === key).length);
        assert.deepEqual(
          KEYS.map((key) => queue.held.get(key) ?? 0),
          counts,
        );
        assert.ok(running.length <= limits.limit && Math.max(...counts) <= limits.limitPerKey, 'limits');
        for (const { key } of tasks.filter(({ state }) => state === 'waits')) {
          const held = queue.held.get(key) ?? 0;
          assert.ok(held === limits.limitPerKey || queue.freeFor(held) <= 0, 'nothing waits without a reason');
        }
      }
    }),
    { numRuns: 300 },
  );
});

it('a key with little work waits for at most one piece of work of each other key', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...KEYS), { maxLength: 40 }),
      fc.constantFrom(1, 2, 3),
      async (work, limit) => {
        const { begun, add, end } = bench({ limit });
        for (const key of work) void add(key, key);
        await setImmediate();
        const from = begun.length;
        void add('small', 'small');
        await setImmediate();
        while (!begun.includes('small')) await end();
        const before = begun.slice(from, begun.indexOf('small'));
        assert.equal(new Set(before).size, before.length);
      },
    ),
  );
});

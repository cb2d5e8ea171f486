import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HandBack } from '../../../src/imports/queue/worker.ts';
import { createFairSlots } from '../../../src/imports/run/fair-slots.ts';
import { turns as turnsOfLoop } from '../../support/imports/batch-store.ts';

/** Work that runs until the test ends it, in the order in which it began. */
function bench(atOnce: number) {
  const turns = createFairSlots(atOnce);
  const begun: string[] = [];
  const ends: ((error?: Error) => void)[] = [];
  return {
    begun,
    add: (importId: string, name: string) =>
      turns.run(importId, () => {
        begun.push(name);
        return new Promise<string>((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve(name))));
      }),
    stop: () => turns.stop(),
    async end(error?: Error) {
      ends.shift()?.(error);
      await turnsOfLoop(2);
    },
  };
}

describe('fair slots', () => {
  it('go to the imports in turn (round robin), and in order within each', async () => {
    const { begun, add, end } = bench(2);
    for (const n of [1, 2, 3, 4, 5, 6]) void add('big', `big${n}`);
    for (const n of [1, 2]) void add('small', `small${n}`);
    void add('other', 'other1');
    await turnsOfLoop(2);
    assert.deepEqual(begun, ['big1', 'big2'], 'no more at once than allowed');
    for (let n = 0; n < 7; n++) await end();
    assert.deepEqual(begun.slice(2), ['big3', 'small1', 'other1', 'big4', 'small2', 'big5', 'big6']);
  });

  it('return the result of the work, and continue after work that fails', async () => {
    const { begun, add, end } = bench(1);
    const [first, second] = [add('a', 'first'), add('a', 'second')];
    const failed = assert.rejects(first, /broken/);
    await turnsOfLoop(2);
    await end(new Error('broken'));
    await failed;
    await end();
    assert.equal(await second, 'second');
    void add('a', 'third');
    await turnsOfLoop(2);
    assert.deepEqual(begun, ['first', 'second', 'third']);
  });

  it('begin nothing after they were stopped, and finish what they had begun', async () => {
    const { begun, add, end, stop } = bench(1);
    const [first, ...others] = [add('a', 'first'), add('a', 'second'), add('b', 'third')];
    await turnsOfLoop(2);
    stop();
    for (const other of [...others, add('c', 'fourth')]) await assert.rejects(other, HandBack);
    await end();
    assert.equal(await first, 'first');
    assert.deepEqual(begun, ['first']);
  });
});

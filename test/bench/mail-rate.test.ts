import assert from 'node:assert/strict';
import test from 'node:test';
import { mostInASecond, rateOf } from '../../bench/measure/mail-rate.ts';

/** `count` arrivals, `ms` apart. */
function every(ms: number, count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, n) => from + n * ms);
}

test('the rate is computed from the gaps between arrivals', () => {
  assert.equal(rateOf(every(10, 11)), 100);
  assert.equal(rateOf(every(10, 11, 5000)), 100);
  assert.equal(rateOf([5]), 0);
});

test('the most mails within one second are found wherever that second begins', () => {
  assert.equal(mostInASecond(every(10, 500)), 100);
  assert.equal(mostInASecond([...every(0, 100, 990), ...every(0, 100, 1985)]), 200);
  assert.equal(mostInASecond([...every(0, 100, 0), ...every(0, 100, 1000)]), 100);
});

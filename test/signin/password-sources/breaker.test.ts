/** The circuit breaker of a password source. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { NO, type SourceAnswer, unavailable } from '../../../src/signin/password-sources/answer.ts';
import { openBreaker } from '../../../src/signin/password-sources/verify.ts';

const DOWN = unavailable('ECONNREFUSED', true);

it('a source that is down is left alone, and tried again by one check after a while', async () => {
  let now = 0;
  let asked = 0;
  const breaker = openBreaker(() => now);
  const run = (answer: SourceAnswer) =>
    breaker.run(async () => {
      asked++;
      return answer;
    });
  for (let i = 0; i < 4; i++) await run(DOWN);
  assert.deepEqual(await run(NO), NO);
  for (let i = 0; i < 5; i++) await run(DOWN);
  assert.equal(asked, 10);
  assert.equal((await run(NO)).result, 'unavailable');
  assert.equal(asked, 10, 'it is not asked');
  now += 15_000;
  const [first, second] = await Promise.all([run(DOWN), run(NO)]);
  assert.deepEqual([first, second.result, asked], [DOWN, 'unavailable', 11]);
  now += 15_000;
  assert.deepEqual(await run(NO), NO);
  assert.deepEqual(await run(NO), NO);
});

it('answers about single users keep nobody else out', async () => {
  const breaker = openBreaker(() => 0);
  const locked = unavailable('answered 400 (AADSTS50053)');
  for (let i = 0; i < 9; i++) assert.deepEqual(await breaker.run(async () => locked), locked);
});

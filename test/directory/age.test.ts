/** The effect of a policy on a password of a given age. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { passwordAge } from '../../src/contract/password-rules.ts';

test('a password expires after its days, with a warning before', () => {
  const policy = { maxAgeDays: 90, expireWarnDays: 14 };
  for (const [age, isExpired, expiresInDays] of [
    [0, false, undefined],
    [75.99, false, undefined],
    [76, false, 14],
    [76.5, false, 13],
    [89.5, false, 0],
    [90, false, 0],
    [90.001, true, undefined],
    [4000, true, undefined],
  ] as const) {
    assert.deepEqual(passwordAge(policy, age), { isExpired, expiresInDays }, `${age} days`);
  }
});

test('without a warning period there is a warning only on the last day, without a maximum age never', () => {
  assert.deepEqual(passwordAge({ maxAgeDays: 10, expireWarnDays: 0 }, 9.9), {
    isExpired: false,
    expiresInDays: undefined,
  });
  assert.deepEqual(passwordAge({ maxAgeDays: 0, expireWarnDays: 30 }, 9999), {
    isExpired: false,
    expiresInDays: undefined,
  });
});

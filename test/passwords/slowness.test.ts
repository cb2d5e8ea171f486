import assert from 'node:assert/strict';
import test from 'node:test';
import { openSlowness } from '../../src/passwords/work.ts';

test('the slowest of the latest tasks counts, from as expected to three times as long', () => {
  const slowness = openSlowness();
  assert.equal(slowness.factor(), 1);
  slowness.took(100, 20);
  assert.equal(slowness.factor(), 1);
  slowness.took(100, 250);
  slowness.took(100, 110);
  assert.equal(slowness.factor(), 2.5);
  slowness.took(100, 900);
  assert.equal(slowness.factor(), 3);
  for (let i = 0; i < 32; i++) slowness.took(100, 120);
  assert.equal(slowness.factor(), 1.2);
});

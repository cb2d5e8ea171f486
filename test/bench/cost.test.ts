/** How the bench `cost` lists the purposes of PostgreSQL's processes. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { listed } from '../../bench/benches/cost.ts';

test('purposes are listed largest first, and small ones are summed up', () => {
  assert.equal(listed({ a: 0.3, b: 2, c: 10.04, d: 0.4 }), 'c 10.0, b 2.0, all else 0.7');
  assert.equal(listed({ a: 0.3 }), '');
});

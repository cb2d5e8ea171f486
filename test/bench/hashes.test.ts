/** The bench of hashes: acceptance takes each hash that it times, so it is really computed. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { CASES } from '../../bench/benches/hashes.ts';
import { hashProblem, schemeOf } from '../../src/passwords/registry.ts';

for (const { make, usual, dearest = usual } of CASES) {
  test(`${schemeOf(make(usual))}: ${usual}, ${dearest}`, () => {
    for (const cost of [usual, dearest]) assert.equal(hashProblem(make(cost)), undefined, cost);
  });
}

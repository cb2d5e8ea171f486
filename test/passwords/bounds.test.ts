/** Every bound of contract section 5, from both sides: taken at the bound, refused beyond it with the scheme and the number. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashProblem, SCHEMES, schemeOf } from '../../src/passwords/registry.ts';
import { BOUNDS, scrypt } from './bounds.ts';

/** Memory is a product and has a message of its own. */
const SCRYPT_MEMORY: Array<[cost: string, problem?: string]> = [
  ['ln=18,r=8,p=1'],
  ['ln=18,r=9,p=1', 'memory 128·N·r of 288 MiB is out of bounds (256 MiB)'],
  ['ln=19,r=8,p=1', 'memory 128·N·r of 512 MiB is out of bounds (256 MiB)'],
  ['ln=20,r=2,p=16'],
  ['ln=20,r=3,p=1', 'memory 128·N·r of 384 MiB is out of bounds (256 MiB)'],
];

describe('a hash', () => {
  for (const { scheme, what, make, lowest, highest } of BOUNDS) {
    it(`of ${make(lowest).split('$', 2).join('$')}$ has ${what} from ${lowest} to ${highest}`, () => {
      for (const n of [lowest, highest]) {
        assert.equal(schemeOf(make(n)), scheme);
        assert.equal(hashProblem(make(n)), undefined);
      }
      for (const n of [lowest - 1, highest + 1]) {
        assert.equal(hashProblem(make(n)), `${scheme}: ${what} ${n} is out of bounds (${lowest} to ${highest})`);
      }
    });
  }

  it('of scrypt takes at most 256 MiB', () => {
    for (const [cost, problem] of SCRYPT_MEMORY) {
      assert.equal(hashProblem(scrypt(cost)), problem && `scrypt: ${problem}`, cost);
    }
  });

  it('has 1 to 200 characters', () => {
    const long = (salt: number) => `$md5salted-prefix$${'😀'.repeat(salt)}$${'A'.repeat(22)}==`;
    assert.equal([...long(157)].length, 200);
    assert.equal(hashProblem(long(157)), undefined);
    assert.equal(hashProblem(long(158)), 'md5salted-prefix: the hash is longer than 200 characters');
    assert.equal(hashProblem(''), 'the hash is empty');
  });

  it('of every scheme with a cost is among these', () => {
    const bound = new Set(BOUNDS.map((b) => b.scheme));
    const free = SCHEMES.map((s) => s.name).filter((name) => !bound.has(name));
    assert.deepEqual(free, ['md5-crypt', 'md5salted-prefix', 'md5salted-suffix', 'md5-plain']);
  });
});

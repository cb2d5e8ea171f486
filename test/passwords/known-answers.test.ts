/** Verifies hashes of every scheme that other programs made. */
import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import test from 'node:test';
import { hashProblem, SCHEMES, schemeOf, verifyHash, workOf } from '../../src/passwords/registry.ts';
import { KNOWN_ANSWERS, oneOfEach } from './known-answers.ts';

/** About 25 ms. A wrong password takes as long as the right one, and differs in the same step for all hashes of a scheme. */
const LITTLE_WORK = 0.005;
const CHEAPEST = new Set(oneOfEach().map(({ encoded }) => encoded));

test('every scheme has known answers', () => {
  const known = new Set(KNOWN_ANSWERS.map((answer) => answer.scheme));
  assert.deepEqual(new Set(SCHEMES.map((scheme) => scheme.name)), known);
});

for (const [n, { scheme, origin, password, encoded }] of KNOWN_ANSWERS.entries()) {
  test(`${scheme} of ${origin}, known answer ${n}`, () => {
    assert.equal(schemeOf(encoded), scheme);
    assert.equal(hashProblem(encoded), undefined);
    assert.equal(verifyHash(encoded, password), true);
    if (workOf(encoded) > LITTLE_WORK && !CHEAPEST.has(encoded)) return;
    assert.equal(verifyHash(encoded, `!${password}`), false);
  });
}

test('bcrypt ignores a password beyond its first 72 bytes', () => {
  const { encoded, password } = KNOWN_ANSWERS.find((answer) => answer.password.length === 80) ?? assert.fail();
  assert.equal(verifyHash(encoded, password.slice(0, 72)), true);
  assert.equal(verifyHash(encoded, `${password.slice(0, 72)}other`), true);
  assert.equal(verifyHash(encoded, password.slice(0, 71)), false);
});

test('bcrypt verifies a hash whose salt has unused bits set', () => {
  const { encoded, password } = KNOWN_ANSWERS.find((answer) => answer.encoded.includes('stuuw3')) ?? assert.fail();
  const odd = encoded.replace('stuuw3', 'stuvw3');
  assert.equal(hashProblem(odd), undefined);
  assert.equal(verifyHash(odd, password), true);
  assert.equal(verifyHash(odd, `!${password}`), false);
});

// The vectors of RFC 9106 have a secret and associated data, which no hash string can carry.
for (const [variant, tag] of [
  ['argon2i', 'c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8'],
  ['argon2id', '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659'],
] as const) {
  test(`the runtime's ${variant} gives the result in RFC 9106 section 5`, () => {
    const made = argon2Sync(variant, {
      message: Buffer.alloc(32, 1),
      nonce: Buffer.alloc(16, 2),
      secret: Buffer.alloc(8, 3),
      associatedData: Buffer.alloc(12, 4),
      memory: 32,
      passes: 3,
      parallelism: 4,
      tagLength: 32,
    });
    assert.equal(made.toString('hex'), tag);
  });
}

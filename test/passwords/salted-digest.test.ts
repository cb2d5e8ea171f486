/** Salted digests and HMACs: what is rejected, with the exact messages, and how they relate to each other. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import test from 'node:test';
import { hashProblem, verifyHash } from '../../src/passwords/registry.ts';

const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
const FIELDS = 'the fields are not salt and hash';

const REFUSED: Array<[encoded: string, problem: string]> = [
  ['$salted-sha256-prefix$', `salted-sha256-prefix: ${FIELDS}`],
  [`$salted-sha256-prefix$${base64(32)}`, `salted-sha256-prefix: ${FIELDS}`],
  [`$salted-sha256-prefix$c2FsdA$${base64(32)}$x`, `salted-sha256-prefix: ${FIELDS}`],
  [`$salted-sha256-prefix$r=2$${base64(32)}`, `salted-sha256-prefix: ${FIELDS}`],
  [`$salted-sha256-suffix$salt!$${base64(32)}`, 'salted-sha256-suffix: the salt is not base64'],
  [`$salted-sha256-suffix$c2FsdA$${base64(32)}=`, 'salted-sha256-suffix: the hash is not base64'],
  [`$salted-sha256-suffix$c2FsdA$${base64(31)}`, 'salted-sha256-suffix: the hash is not 32 bytes'],
  [`$salted-sha256-suffix$c2FsdA$${'0'.repeat(64)}`, 'salted-sha256-suffix: the hash is not 32 bytes'],
  [`$salted-md5-prefix$r=0$c2FsdA$${base64(16)}`, 'salted-md5-prefix: rounds r 0 is out of bounds (1 to 1000000)'],
  [`$salted-md5-prefix$r=07$c2FsdA$${base64(16)}`, 'salted-md5-prefix: rounds r must be a whole number'],
  [`$salted-md5-prefix$r=$c2FsdA$${base64(16)}`, 'salted-md5-prefix: rounds r must be a whole number'],
  [`$salted-md5-prefix$r=1e3$c2FsdA$${base64(16)}`, 'salted-md5-prefix: rounds r must be a whole number'],
  [`$salted-sha512-prefix$${base64(80)}$${base64(64)}`, 'salted-sha512-prefix: the hash is longer than 200 characters'],
  [`$salted-sha3-prefix$c2FsdA$${base64(32)}`, 'unknown scheme "$salted-sha3-prefix$"'],
  [
    `$salted-sha256-infix$c2FsdA$${base64(32)}`,
    'unknown scheme: it does not begin with a known identifier such as $2b$',
  ],

  ['$hmac-sha256$', 'hmac-sha256: the fields are not key and hash'],
  [`$hmac-sha256$a2V5$${base64(32)}$x`, 'hmac-sha256: the fields are not key and hash'],
  [`$hmac-sha256$$${base64(32)}`, 'hmac-sha256: the key is missing'],
  [`$hmac-sha256$key!$${base64(32)}`, 'hmac-sha256: the key is not base64'],
  [`$hmac-sha256$a2V5$${base64(32)}!`, 'hmac-sha256: the hash is not base64'],
  [`$hmac-md5$a2V5$${base64(20)}`, 'hmac-md5: the hash is not 16 bytes'],
  [`$hmac-md4$a2V5$${base64(16)}`, 'unknown scheme "$hmac-md4$"'],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${encoded.slice(0, 40)}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), problem);
    assert.equal(verifyHash(encoded, 'password'), false);
  });
}

test('one round is the plain digest, and two rounds digest it once more', () => {
  const once = hash('sha256', 'saltpassword', 'buffer');
  const twice = hash('sha256', once, 'base64');
  assert.equal(verifyHash(`$salted-sha256-prefix$c2FsdA$${once.toString('base64')}`, 'password'), true);
  assert.equal(verifyHash(`$salted-sha256-prefix$r=1$c2FsdA$${once.toString('base64')}`, 'password'), true);
  assert.equal(verifyHash(`$salted-sha256-prefix$r=2$c2FsdA$${twice}`, 'password'), true);
  assert.equal(verifyHash(`$salted-sha256-prefix$r=3$c2FsdA$${twice}`, 'password'), false);
});

test('the order of salt and password matters', () => {
  const before = hash('sha1', 'saltpassword', 'base64');
  const after = hash('sha1', 'passwordsalt', 'base64');
  assert.equal(verifyHash(`$salted-sha1-suffix$c2FsdA$${after}`, 'password'), true);
  assert.equal(verifyHash(`$salted-sha1-suffix$c2FsdA$${before}`, 'password'), false);
  assert.equal(verifyHash(`$salted-sha1-prefix$c2FsdA$${after}`, 'password'), false);
});

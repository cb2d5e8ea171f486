/** Every bound of docs/passwords.md: accepted at the bound, rejected beyond it with the scheme and the number. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashProblem, SCHEMES, schemeOf, verifyHash } from '../../src/passwords/registry.ts';
import { BOUNDS, fbscrypt, scrypt, WORK } from './bounds.ts';

/** Memory is a product and has its own message. */
const SCRYPT_MEMORY: Array<[cost: string, problem?: string]> = [
  ['ln=18,r=8,p=1'],
  ['ln=18,r=9,p=1', 'memory 128·N·r of 288 MiB is out of bounds (256 MiB)'],
  ['ln=19,r=8,p=1', 'memory 128·N·r of 512 MiB is out of bounds (256 MiB)'],
  ['ln=20,r=2,p=1'],
  ['ln=20,r=3,p=1', 'memory 128·N·r of 384 MiB is out of bounds (256 MiB)'],
];

/** bsdi-crypt takes any number of rounds that its four characters can hold. */
const WITHOUT_COST = [
  'bsdi-crypt',
  'django md5',
  'django sha1',
  'md5-crypt',
  'apr1-crypt',
  'des-crypt',
  'md5salted-prefix',
  'md5salted-suffix',
  'aspnet-identity-v2',
  'aspnet-membership',
  'md5-plain',
  'sha1-plain',
  'sha256-plain',
  'sha512-plain',
  'md5:salt',
  'sha1:salt',
  'sha256:salt',
  'sha512:salt',
  'better-auth scrypt',
  'lucia scrypt',
  'lucia 1 scrypt',
  '{PKCS5S2}',
  'spring ldap',
  'spring pbkdf2',
  'spring pbkdf2@SpringSecurity_v5_8',
  'spring sha256',
  'spring MD5',
  'spring SHA-1',
  'spring SHA-256',
  '{SSHA}',
  '{SSHA256}',
  '{SSHA384}',
  '{SSHA512}',
  '{SMD5}',
  '{SHA}',
  '{SHA256}',
  '{SHA384}',
  '{SHA512}',
  '{MD5}',
  'hmac-md5',
  'hmac-sha1',
  'hmac-sha224',
  'hmac-sha256',
  'hmac-sha384',
  'hmac-sha512',
];

describe('a hash', () => {
  for (const { scheme, what, make, lowest, highest } of BOUNDS) {
    it(`of ${scheme}, ${make(lowest).slice(0, 16)}…, has ${what} from ${lowest} to ${highest}`, () => {
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

  it('of $fbscrypt$ has up to 400, because it includes the signer key', () => {
    const long = (signerKey: number, separator: number) => fbscrypt('n=14,r=8,p=1', signerKey, separator);
    assert.equal(long(117, 27).length, 400);
    assert.equal(hashProblem(long(117, 27)), undefined);
    assert.equal(hashProblem(long(117, 28)), 'fbscrypt: the hash is longer than 400 characters');
  });

  it('of argon2 has up to 400, for a salt of 64 bytes and a hash of 128', () => {
    const long = (bytes: number) =>
      `$argon2id$v=19$m=64,t=1,p=1$${'A'.repeat(86)}$${Buffer.alloc(bytes).toString('base64').replace(/=+$/, '')}`;
    assert.equal(hashProblem(long(128)), undefined);
    assert.equal(hashProblem(long(300)), 'argon2id: the hash is longer than 400 characters');
  });

  it('of scrypt in another form has the same limit of memory', () => {
    const problem = 'memory 128·N·r of 512 MiB is out of bounds (256 MiB)';
    const digest = 'ab'.repeat(64);
    assert.equal(hashProblem(fbscrypt('n=18,r=8,p=6')), undefined);
    assert.equal(hashProblem(fbscrypt('n=18,r=16,p=1')), `fbscrypt: ${problem}`);
    assert.equal(hashProblem(`scrypt$262144$salt$8$6$${digest}`), undefined);
    assert.equal(hashProblem(`scrypt$262144$salt$16$1$${digest}`), `django scrypt: ${problem}`);
    assert.equal(hashProblem(`scrypt:262144:8:6$salt$${digest}`), undefined);
    assert.equal(hashProblem(`scrypt:262144:16:1$salt$${digest}`), `werkzeug scrypt: ${problem}`);
  });

  it('of yescrypt takes at most 256 MiB', () => {
    assert.equal(hashProblem(`$y$jF5$salt$${'.'.repeat(43)}`), undefined);
    const problem = 'yescrypt: memory 128·N·r is out of bounds (256 MiB)';
    assert.equal(hashProblem(`$y$jF6$salt$${'.'.repeat(43)}`), problem);
  });

  for (const { scheme, most, more, times } of WORK) {
    it(`of ${scheme} may take as long as bcrypt with cost 16, with all lanes, blocks and readings; not ${times} times as long`, () => {
      assert.equal(schemeOf(most), scheme);
      assert.equal(hashProblem(most), undefined);
      const problem = `verifying it takes ${times} times as long as bcrypt with cost 16; at most 1 is allowed`;
      assert.equal(hashProblem(more)?.split(': ').at(-1), problem);
      assert.equal(verifyHash(more, 'secret'), false, 'it is not computed');
    });
  }

  it('of every scheme with a cost is tested here', () => {
    const bound = new Set([...BOUNDS, ...WORK].map((b) => b.scheme));
    const free = SCHEMES.map((s) => s.name).filter((name) => !bound.has(name));
    assert.deepEqual(new Set(free), new Set(WITHOUT_COST));
  });
});

/** Every password scheme of FusionAuth, checked against its documentation and its published test vectors. */
import assert from 'node:assert/strict';
import { createHmac, hash, pbkdf2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { hashProblem } from '../../../src/passwords/registry.ts';
import { encodeCrypt64 } from '../../../src/passwords/schemes/crypt3.ts';
import { fusionauth } from '../../../src/sources/systems/fusionauth.ts';
import { assertRefused, assertVerifies, personOf } from '../people.ts';

const PASSWORD = 'correct hörse';
const SALT = Buffer.from('a salt of FusionAuth');
const salt = SALT.toString('base64');

type Factor = number | string | undefined;

function made(encryptionScheme: string, password: string, factor: Factor, ofSalt: string | undefined = salt) {
  return personOf(fusionauth, { encryptionScheme, password, salt: ofSalt, factor });
}

/** As documented: the digest is digested repeatedly, `factor` rounds in all. */
function digested(algorithm: string, factor: number, ofSalt: Uint8Array): string {
  let bytes: Buffer = Buffer.concat([Buffer.from(PASSWORD), ofSalt]);
  for (let i = 0; i < factor; i++) bytes = hash(algorithm, bytes, 'buffer');
  return bytes.toString('base64');
}

function phpass(algorithm: string, ofSalt: string, factor: number): Buffer {
  let bytes = hash(algorithm, ofSalt + PASSWORD, 'buffer');
  for (let i = 0; i < factor; i++) bytes = hash(algorithm, Buffer.concat([bytes, Buffer.from(PASSWORD)]), 'buffer');
  return bytes;
}

describe('a hash of FusionAuth', () => {
  it('verifies by the published test vectors', () => {
    // github.com/FusionAuth/fusionauth-import-scripts, testing/generate_import.rb
    const pbkdf2 = {
      hash: 'jHsm+KgtcleCjG/jyC7SuY088G2n/2eiZyNYYEianwU=',
      salt: 'huT0jZQYfZ2frJeZx29J4YTL7SWqeqAIoFQ35TdkTkI=',
    };
    assertVerifies(made('salted-pbkdf2-hmac-sha256', pbkdf2.hash, 24_000, pbkdf2.salt).hash, 'password');
    // github.com/FusionAuth/fusionauth-contrib, the test of its phpass plugin
    assertVerifies(made('phpass-md5', 'eRo7ud9Fh4E2PdI0S3r.L0', 2048, 'IQRaTwmf').hash, 'test12345');
    assertVerifies(made('phpass-md5', 'eXJnDarN7..wRMwRKJeZ40', '8192', 'uvd5FQxk').hash, '!?!#?#?#$&@&@!&@');
  });

  it('of bcrypt verifies, as one text and in separate parts', () => {
    const text = bcrypt.hashSync(PASSWORD, 5).replace('$2b$', '$2a$');
    assert.equal(made('bcrypt', text.slice(29), 5, text.slice(7, 29)).hash, text);
    assertVerifies(made('bcrypt', text.slice(29), '5', text.slice(7, 29)).hash, PASSWORD);
    assertVerifies(made('bcrypt', text, undefined, undefined).hash, PASSWORD);
  });

  it('of one digest verifies after any number of rounds, and without a salt', () => {
    for (const algorithm of ['md5', 'sha256']) {
      for (const factor of [1, 2, 20_000]) {
        assertVerifies(made(`salted-${algorithm}`, digested(algorithm, factor, SALT), factor).hash, PASSWORD);
      }
      assertVerifies(made(`salted-${algorithm}`, digested(algorithm, 1, Buffer.alloc(0)), 1, '').hash, PASSWORD);
    }
  });

  it('of an HMAC verifies, with the salt as its key', () => {
    const digest = createHmac('sha256', SALT).update(PASSWORD).digest('base64');
    assertVerifies(made('salted-hmac-sha256', digest, undefined).hash, PASSWORD);
  });

  it('of PBKDF2 verifies in all three schemes', () => {
    const derived = (algorithm: string, length: number) =>
      pbkdf2Sync(PASSWORD, SALT, 1000, length, algorithm).toString('base64');
    assertVerifies(made('salted-pbkdf2-hmac-sha256', derived('sha256', 32), 1000).hash, PASSWORD);
    assertVerifies(made('salted-pbkdf2-hmac-sha256-512', derived('sha256', 64), 1000).hash, PASSWORD);
    assertVerifies(made('salted-pbkdf2-hmac-sha512-512', derived('sha512', 64), 1000).hash, PASSWORD);
  });

  it('of phpass verifies in its own base64 and in standard base64, salt and hash', () => {
    const bytes = phpass('md5', 'Sal7./xy', 256);
    const salts = ['Sal7./xy', Buffer.from('Sal7./xy').toString('base64')];
    const hashes = [encodeCrypt64(bytes), bytes.toString('base64'), bytes.toString('base64').replace('==', '')];
    for (const each of salts)
      for (const text of hashes) assertVerifies(made('phpass-md5', text, 256, each).hash, PASSWORD);
    const long = encodeCrypt64(phpass('sha512', 'Sal7./xy', 256)).slice(0, 43);
    assertVerifies(made('phpass-sha512', long, 256, 'Sal7./xy').hash, PASSWORD);
  });

  it('without one of its parts is rejected, with the reason', () => {
    const digest = digested('sha256', 1, SALT);
    const problems = [
      made('salted-sha256', digest, undefined),
      made('salted-pbkdf2-hmac-sha256', digest, undefined),
      made('salted-sha256', digest, 1, 'not base64!'),
      made('bcrypt', 'x', 10, 'y'),
      made('salted-md5', '5f4dcc3b5aa765d61d8327deb882cf99', 1),
    ].map((person) => hashProblem(person.hash ?? ''));
    assert.deepEqual(problems, [
      'salted-sha256-suffix: rounds r must be a whole number',
      'pbkdf2-sha256: rounds must be a whole number',
      'salted-sha256-suffix: the salt is not base64',
      'bcrypt: 60 characters are expected, not 9',
      'salted-md5-suffix: the hash is not 16 bytes',
    ]);
  });

  it('has the scheme that the import body names for all users, and is not a plain password', () => {
    const text = bcrypt.hashSync(PASSWORD, 4);
    const [, factor, both = ''] = /^\$2.\$(..)\$(.+)$/.exec(text) ?? [];
    const user = { factor, salt: both.slice(0, 22), password: both.slice(22) };
    const person = personOf(fusionauth, { ...user, '@context': { encryptionScheme: 'bcrypt' } });
    assertVerifies(person.hash, PASSWORD);
    assert.equal(person.password, undefined);
  });

  it('of the WordPress plugin is the whole phpass text in base64', () => {
    const text = `$P$B12345678${encodeCrypt64(phpass('md5', '12345678', 2 ** 13))}`;
    const { hash } = made('example-wordpress-phpass', Buffer.from(text).toString('base64'), 8);
    assert.equal(hash, text);
    assertVerifies(hash, PASSWORD);
    assertRefused(made('example-wordpress-phpass', 'eA==', 8), '$example-wordpress$');
  });

  it('of phpass with invalid rounds or salt, or of a plugin, is rejected by name', () => {
    assertRefused(made('phpass-md5', 'eRo7ud9Fh4E2PdI0S3r.L0', 2000, 'IQRaTwmf'), '$phpass-md5$');
    assertRefused(made('phpass-sha512', 'x', 256, 'short'), '$phpass-sha512$');
    assertRefused(made('acme-hash', 'x', 1), '$acme-hash$');
    assertRefused(made('example-salted-sha512', 'x', 1), '$example-salted-sha$');
    assertRefused(made('toString', 'x', 1), '$tostring$');
  });

  it('is absent with a scheme but no password, as in responses of the API', () => {
    assert.equal(personOf(fusionauth, { encryptionScheme: 'bcrypt', factor: 10 }).hash, undefined);
  });
});

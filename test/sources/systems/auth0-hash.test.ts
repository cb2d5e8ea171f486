/** Hashes that Auth0 exports, and hashes of other systems in the form of its bulk import. */
import assert from 'node:assert/strict';
import { argon2Sync, createHmac, hash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import type { Fields } from '../../../src/sources/source.ts';
import { auth0 } from '../../../src/sources/systems/auth0.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const PASSWORD = 'correct hörse';
const SALT = Buffer.from('0123456789abcdef');

const custom = (custom_password_hash: Fields) => personOf(auth0, { email: 'a@example.com', custom_password_hash });
const b64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

describe('a hash of Auth0', () => {
  it('is taken unchanged from password_hash', () => {
    assertVerifies(
      personOf(auth0, { email: 'a@example.com', password_hash: bcrypt.hashSync(PASSWORD, 4) }).hash,
      PASSWORD,
    );
  });

  it('in bcrypt, argon2 or of an LDAP directory is taken unchanged', () => {
    const argon2 = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce: SALT,
      memory: 64,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
    });
    const ssha = hash('sha384', Buffer.concat([Buffer.from(PASSWORD), SALT]), 'buffer');
    const values = {
      bcrypt: bcrypt.hashSync(PASSWORD, 4).replace('$2b$', '$2y$'),
      argon2: `$argon2id$v=19$m=64,t=1,p=1$${b64(SALT)}$${b64(argon2)}`,
      ldap: `{SSHA384}${Buffer.concat([ssha, SALT]).toString('base64')}`,
    };
    for (const [algorithm, value] of Object.entries(values)) {
      assertVerifies(custom({ algorithm, hash: { value } }).hash, PASSWORD);
    }
  });

  it('of one digest verifies with a salt before or after the password, in any encoding', () => {
    for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512']) {
      for (const position of ['prefix', 'suffix', undefined]) {
        for (const encoding of ['hex', 'base64'] as const) {
          const parts = position === 'suffix' ? [Buffer.from(PASSWORD), SALT] : [SALT, Buffer.from(PASSWORD)];
          const value = hash(algorithm, Buffer.concat(parts), 'buffer').toString(encoding);
          const salt = { value: SALT.toString('hex').toUpperCase(), encoding: 'hex', position };
          assertVerifies(custom({ algorithm, hash: { value, encoding }, salt }).hash, PASSWORD);
        }
      }
    }
  });

  it('of one digest verifies without a salt, with a salt of spaces, and in base64url', () => {
    const bare = hash('sha256', PASSWORD, 'buffer').toString('hex').toUpperCase();
    assertVerifies(custom({ algorithm: 'sha256', hash: { value: bare, encoding: 'hex' } }).hash, PASSWORD);
    const spaced = hash('sha256', ` a ${PASSWORD}`, 'buffer').toString('base64url');
    const salted = custom({ algorithm: 'sha256', hash: { value: spaced, encoding: 'base64' }, salt: { value: ' a ' } });
    assertVerifies(salted.hash, PASSWORD);
  });

  it('as HMAC verifies with its key', () => {
    for (const digest of ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']) {
      const value = createHmac(digest, 'key').update(PASSWORD).digest('hex');
      const key = { value: Buffer.from('key').toString('base64'), encoding: 'base64' };
      assertVerifies(custom({ algorithm: 'hmac', hash: { value, encoding: 'hex', digest, key } }).hash, PASSWORD);
    }
  });

  it('as PBKDF2 verifies under any name of its digest, with its parameters or the defaults', () => {
    const value = (name: string, rounds: number, parameters: string, digest: string) =>
      `$pbkdf2-${name}$${parameters}${b64(SALT)}$${b64(pbkdf2Sync(PASSWORD, SALT, rounds, 64, digest))}`;
    const values = [
      value('sha512', 1000, 'i=1000,l=64$', 'sha512'),
      value('RSA-SHA256', 1000, 'l=64,i=1000$', 'sha256'),
      value('sha1WithRSAEncryption', 1000, 'i=1000$', 'sha1'),
      value('sha256', 100_000, '', 'sha256'),
    ];
    for (const one of values) assertVerifies(custom({ algorithm: 'pbkdf2', hash: { value: one } }).hash, PASSWORD);
  });

  it('as scrypt verifies with its parameters or the defaults', () => {
    const usual = scryptSync(PASSWORD, 'abc', 32).toString('base64');
    const salt = { value: 'abc' };
    const of = (value: string, more: Fields) =>
      custom({ algorithm: 'scrypt', hash: { value, encoding: 'base64' }, salt, ...more });
    assertVerifies(of(usual, { keylen: 32 }).hash, PASSWORD);
    const other = scryptSync(PASSWORD, 'abc', 24, { N: 1024, r: 4, p: 2 }).toString('base64');
    assertVerifies(of(other, { keylen: 24, cost: 1024, blockSize: 4, parallelization: 2 }).hash, PASSWORD);
  });

  it('that cannot be verified is rejected by name, without any part of it', () => {
    const hex = { value: 'ab'.repeat(16), encoding: 'hex' };
    const refused: [Fields, string][] = [
      [{ algorithm: 'md4', hash: hex }, '$md4$'],
      [{ algorithm: 'hmac', hash: { ...hex, digest: 'ripemd160', key: { value: 'k' } } }, '$hmac-ripemd160$'],
      [
        { algorithm: 'hmac', hash: { ...hex, digest: 'md5', key: { value: 'k' } }, salt: { value: 's' } },
        '$hmac-salted$',
      ],
      [{ algorithm: 'bcrypt', hash: { value: bcrypt.hashSync('s', 4) }, salt: { value: 's' } }, '$bcrypt-salted$'],
      [{ algorithm: 'sha256', hash: { value: 'not hex', encoding: 'hex' } }, '$sha256$'],
      [{ algorithm: 'sha256', hash: hex, password: { encoding: 'utf16le' } }, '$sha256-utf16$'],
      [{ algorithm: 'scrypt', hash: hex, salt: { value: 's' }, cost: 1000 }, '$scrypt$'],
      [{ algorithm: 'pbkdf2', hash: { value: '$pbkdf2-md4$i=1,l=64$AAAA$AAAA' } }, '$pbkdf2-md4$'],
      [{ algorithm: 'pbkdf2', hash: { value: 'what' } }, '$pbkdf2$'],
      [{ algorithm: 'bcrypt' }, '$bcrypt$'],
      [{ algorithm: '$2b$10$secret', hash: hex }, '$unknown$'],
    ];
    for (const [custom_password_hash, text] of refused) assertRefused(custom(custom_password_hash), text);
  });

  it('of a password in Latin-1 has a note', () => {
    const value = hash('sha1', 'ascii', 'hex');
    const person = custom({ algorithm: 'sha1', hash: { value, encoding: 'hex' }, password: { encoding: 'latin1' } });
    assertVerifies(person.hash, 'ascii');
    assert.deepEqual(noteIds(person), ['AUTH0-PASSWORD-ENCODING']);
  });
});

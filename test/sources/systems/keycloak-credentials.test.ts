import assert from 'node:assert/strict';
import { argon2Sync, pbkdf2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import type { Fields } from '../../../src/sources/source.ts';
import {
  assertVerifies,
  converted,
  credential,
  hashOf,
  notesOf,
  PASSWORD,
  pbkdf2,
  personOf,
  SALT,
} from './converted.ts';

describe('Keycloak: hashes', () => {
  it('of PBKDF2 verify, whatever their length, without the padding of base64', () => {
    const schemes = [
      ['pbkdf2', 'sha1', '$pbkdf2$1000$'],
      ['pbkdf2-sha256', 'sha256', '$pbkdf2-sha256$1000$'],
      ['pbkdf2-sha512', 'sha512', '$pbkdf2-sha512$1000$'],
    ] as const;
    for (const [algorithm, digest, beginning] of schemes) {
      for (const bytes of [16, 32, 64]) {
        const credentials = [
          credential({ algorithm, hashIterations: 1000, additionalParameters: {} }, pbkdf2(digest, bytes)),
        ];
        assertVerifies(credentials, beginning);
        assert.ok(!hashOf(credentials).includes('='));
      }
    }
  });

  it('of Keycloak 9 verifies: an example of https://dev.to/oskarspakers/import-pbkdf2-hashed-user-passwords-into-keycloak-571m', () => {
    const secret = { salt: 'x/bm4Y3DcuV9eU97ervkPA==', value: '1u7BLvfSPxQFpwc5jpGSA+88EGl9pZYKhaZ8YPIu9N4=' };
    const hash = hashOf([credential({ hashIterations: 27500, algorithm: 'pbkdf2-sha256' }, secret)]);
    assert.equal(verifyHash(hash, 'admin'), true);
  });

  it('of PBKDF2 of a short password verify: the zeros that Keycloak appends make no difference', () => {
    const padded = pbkdf2Sync('short\0\0\0\0\0\0\0\0\0', SALT, 1000, 32, 'sha256').toString('base64');
    const secret = { value: padded, salt: SALT.toString('base64') };
    const hash = hashOf([credential({ algorithm: 'pbkdf2-sha256', hashIterations: 1000 }, secret)]);
    assert.equal(verifyHash(hash, 'short'), true);
  });

  it('of argon2 verify, with parameters as lists and as plain values', () => {
    const cost = { memory: 1024, passes: 2, parallelism: 1, tagLength: 32 };
    for (const [type, name] of [
      ['id', 'argon2id'],
      ['i', 'argon2i'],
    ] as const) {
      const value = argon2Sync(name, { message: Buffer.from(PASSWORD), nonce: SALT, ...cost }).toString('base64');
      const secret = { value, salt: SALT.toString('base64') };
      const lists = { type: [type], version: ['1.3'], memory: ['1024'], parallelism: ['1'], hashLength: ['32'] };
      const bare = { type, version: '1.3', memory: 1024, parallelism: 1 };
      for (const additionalParameters of [lists, bare]) {
        const credentials = [credential({ algorithm: 'argon2', hashIterations: 2, additionalParameters }, secret)];
        assertVerifies(credentials, `$${name}$v=19$m=1024,t=2,p=1$`);
      }
    }
  });

  it('of argon2 that cannot be verified are rejected by name', () => {
    const secret = { value: 'AAAAAAAAAAAAAAAAAAAAAA==', salt: SALT.toString('base64') };
    const of = (type: string, version: string) => {
      const additionalParameters = { type: [type], version: [version], memory: ['1024'], parallelism: ['1'] };
      return hashProblem(
        hashOf([credential({ algorithm: 'argon2', hashIterations: 2, additionalParameters }, secret)]),
      );
    };
    assert.match(of('d', '1.0') ?? '', /^argon2d: only version v=19/);
    assert.match(of('id', '1.0') ?? '', /^argon2id: only version v=19/);
    assert.match(of('id', '1.1') ?? '', /"\$argon2-no-cost\$"/);
  });

  it('of extensions that store a complete Modular Crypt text are taken unchanged', () => {
    const value = bcrypt.hashSync(PASSWORD, 4);
    assertVerifies([credential({ algorithm: 'bcrypt', hashIterations: 4 }, { value, salt: '' })], '$2b$04$');
    const text = 'argon2i$v=19$m=16,t=2,p=1$SG5lU1J6bVQwQVdqWnJVVg$D4lhpKP+NECizhGS+9uZiA';
    assert.equal(hashOf([credential({ algorithm: 'argon2' }, { value: text })]), `$${text}`);
  });

  it('of exports before Keycloak 8 verify, even without a named algorithm', () => {
    const value = pbkdf2Sync(PASSWORD, SALT, 20, 64, 'sha1').toString('base64');
    const old = { type: 'password', hashedSaltedValue: value, salt: SALT.toString('base64'), hashIterations: 20 };
    assertVerifies([{ ...old, algorithm: 'pbkdf2', counter: 0, digits: 0, config: {} }], '$pbkdf2$20$');
    assertVerifies([old], '$pbkdf2$20$');
  });

  it('without rounds, of unknown algorithms or invalid are rejected by name, and noted', () => {
    const secret = pbkdf2('sha256', 32);
    const cases: [Fields, Fields, string][] = [
      [{ algorithm: 'pbkdf2-sha256', hashIterations: -1 }, secret, '$pbkdf2-no-rounds$'],
      [{ algorithm: 'pbkdf2-sha256' }, secret, '$pbkdf2-no-rounds$'],
      [{ algorithm: 'pbkdf2-sha256', hashIterations: 5 }, { ...secret, value: '*' }, '$pbkdf2-no-base64$'],
      [{ algorithm: 'house-md5', hashIterations: 1 }, secret, '$house-md5$'],
      [{ algorithm: 'a name that is much too long', hashIterations: 1 }, secret, '$unknown$'],
      [{ hashIterations: 1 }, secret, '$no-algorithm$'],
    ];
    for (const [data, secretData, hash] of cases) {
      const credentials = [credential(data, secretData)];
      assert.equal(hashOf(credentials), hash);
      assert.match(hashProblem(hash) ?? '', /^unknown scheme/);
      assert.deepEqual(notesOf({ credentials }), ['HASH-UNSUPPORTED']);
    }
  });

  it('come from the first password, by priority if there is one, and never from the history', () => {
    const of = (rounds: number, more: Fields = {}) =>
      credential({ algorithm: 'pbkdf2-sha256', hashIterations: rounds }, pbkdf2('sha256', 32), more);
    assert.match(hashOf([of(1), of(2)]), /^\$pbkdf2-sha256\$1\$/);
    assert.match(hashOf([of(1, { priority: 20 }), of(2, { priority: 10 })]), /^\$pbkdf2-sha256\$2\$/);
    assert.match(hashOf([of(1, { type: 'password-history' }), of(2)]), /^\$pbkdf2-sha256\$2\$/);
    assert.equal(personOf({ credentials: [of(1, { type: 'password-history' })] }).hash, undefined);
  });

  it('are replaced by a plain password written by hand, unless it is a placeholder', () => {
    assert.deepEqual(
      converted({ username: 'ann', enabled: true, credentials: [{ type: 'password', value: ' x ', temporary: true }] }),
      {
        userName: 'ann',
        phoneVerified: false,
        state: 'active',
        password: ' x ',
        passwordChangeRequired: true,
        metadata: {},
        links: [],
        notes: [],
      },
    );
    const placeholder = { credentials: [{ type: 'password', value: `$${'{env.PW}'}` }] };
    assert.equal(personOf(placeholder).password, undefined);
    assert.deepEqual(notesOf(placeholder), ['PASSWORD-PLACEHOLDER']);
  });
});

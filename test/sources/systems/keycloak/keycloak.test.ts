import assert from 'node:assert/strict';
import { argon2Sync, pbkdf2Sync } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { hashProblem, verifyHash } from '../../../../src/passwords/registry.ts';
import type { Person } from '../../../../src/sources/person.ts';
import type { Fields } from '../../../../src/sources/source.ts';
import { keycloak } from '../../../../src/sources/systems/keycloak/keycloak.ts';

const PASSWORD = 'correct horse';
const SALT = Buffer.from('RaXjs4RiUKgJGkX6kp277w==', 'base64');
const convert = keycloak.converter({});

/** As in JSON: without undefined fields. */
function converted(record: Fields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(convert(record)));
}

function personOf(record: Fields): Person {
  const person = convert({ username: 'ann', enabled: true, ...record });
  assert.ok(!('skip' in person));
  return person;
}

function notesOf(record: Fields): string[] {
  return (personOf(record).notes ?? []).map(({ id }) => id);
}

/** A credential in the current form. */
function credential(data: Fields, secret: Fields, more: Fields = {}): Fields {
  return { type: 'password', credentialData: JSON.stringify(data), secretData: JSON.stringify(secret), ...more };
}

function pbkdf2(digest: string, bytes: number): Fields {
  const value = pbkdf2Sync(PASSWORD, SALT, 1000, bytes, digest).toString('base64');
  return { value, salt: SALT.toString('base64'), additionalParameters: {} };
}

function hashOf(credentials: Fields[]): string {
  return personOf({ credentials }).hash ?? '';
}

function assertVerifies(credentials: Fields[], beginning: string): void {
  const hash = hashOf(credentials);
  assert.equal(hash.slice(0, beginning.length), beginning);
  assert.equal(hashProblem(hash), undefined);
  assert.equal(verifyHash(hash, PASSWORD), true);
  assert.equal(verifyHash(hash, 'wrong'), false);
}

describe('Keycloak: a user', () => {
  it('of a realm export is converted with all its fields', () => {
    const person = converted({
      id: '826731b2-bf17-4bd9-b45c-6a26c76ddaae',
      createdTimestamp: 1693887631918,
      username: 'ann',
      enabled: true,
      totp: false,
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      email: 'ann@example.com',
      attributes: {
        locale: ['de'],
        nickname: ['annie'],
        gender: ['female'],
        phoneNumber: ['+41791234567'],
        phoneNumberVerified: ['true'],
        department: ['Sales'],
        badges: ['blue', 'red'],
        groups: ['by attribute'],
        old: 'bare',
        nothing: [],
      },
      credentials: [],
      requiredActions: ['VERIFY_EMAIL'],
      realmRoles: ['staff'],
      clientRoles: { account: ['view-profile'] },
      applicationRoles: { shop: ['buyer'] },
      groups: ['/staff/sales'],
      federatedIdentities: [{ identityProvider: 'google', userId: '42', userName: 'ann.a' }, { identityProvider: 'x' }],
      notBefore: 0,
      access: { manage: true },
    });
    assert.deepEqual(person, {
      userId: '826731b2-bf17-4bd9-b45c-6a26c76ddaae',
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      nickName: 'annie',
      gender: 'GENDER_FEMALE',
      language: 'de',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'active',
      passwordChangeRequired: false,
      metadata: {
        realmRoles: ['staff'],
        clientRoles: { account: ['view-profile'] },
        applicationRoles: { shop: ['buyer'] },
        groups: ['/staff/sales'],
        gender: 'female',
        department: 'Sales',
        badges: ['blue', 'red'],
        'attributes.groups': 'by attribute',
        old: 'bare',
      },
      links: [{ provider: 'google', externalUserId: '42', displayName: 'ann.a' }],
      notes: [],
    });
  });

  it('is inactive unless it is enabled, as in Keycloak', () => {
    assert.equal(personOf({ enabled: true }).state, 'active');
    assert.equal(personOf({ enabled: false }).state, 'inactive');
    assert.equal(personOf({ enabled: undefined }).state, 'inactive');
  });

  it('has no fields that the export does not contain', () => {
    assert.equal(personOf({ email: 'ann@example.com' }).emailVerified, undefined);
    assert.equal(personOf({ emailVerified: false }).emailVerified, false);
  });

  it('must change the password with UPDATE_PASSWORD; other actions are noted', () => {
    assert.equal(personOf({ requiredActions: ['UPDATE_PASSWORD'] }).passwordChangeRequired, true);
    assert.deepEqual(notesOf({ requiredActions: ['UPDATE_PASSWORD', 'VERIFY_EMAIL'] }), []);
    assert.deepEqual(notesOf({ requiredActions: ['CONFIGURE_TOTP', 5] }), ['REQUIRED-ACTION-DROPPED']);
  });

  it('is skipped if it is a service account or a realm', () => {
    assert.ok('skip' in convert({ username: 'service-account-shop', serviceAccountClientId: 'shop', enabled: true }));
    assert.ok('skip' in convert({ realm: 'acme', users: [] }));
  });

  it('with a password in another system is noted', () => {
    assert.deepEqual(notesOf({ federationLink: 'x', credentials: [] }), ['PASSWORD-NOT-EXPORTED']);
    const password = credential({ algorithm: 'pbkdf2-sha256', hashIterations: 1000 }, pbkdf2('sha256', 32));
    assert.deepEqual(notesOf({ federationLink: 'x', credentials: [password] }), []);
  });
});

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

describe('Keycloak: second factors', () => {
  const usual = { subType: 'totp', digits: 6, counter: 0, period: 30, algorithm: 'HmacSHA1' };
  const otp = (data: Fields, value: string) => credential(data, { value }, { type: 'otp' });

  it('are the bytes of the text, and base32 only if the export says so', () => {
    assert.equal(
      personOf({ credentials: [otp(usual, 'JBSWY3DPEHPK3PXPAAAA')] }).totp,
      'JJBFGV2ZGNCFARKIKBFTGUCYKBAUCQKB',
    );
    const encoded = otp({ ...usual, secretEncoding: 'BASE32' }, 'JBSWY3DPEHPK3PXPAAAA');
    assert.equal(personOf({ credentials: [encoded] }).totp, 'JBSWY3DPEHPK3PXPAAAA');
    const old = { ...usual, type: 'totp', hashedSaltedValue: 'JBSWY3DPEHPK3PXPAAAA' };
    assert.equal(personOf({ credentials: [old] }).totp, 'JJBFGV2ZGNCFARKIKBFTGUCYKBAUCQKB');
  });

  it('that have no counterpart are dropped and noted', () => {
    const value = 'JBSWY3DPEHPK3PXPAAAA';
    const others = [
      { digits: 8 },
      { period: 60 },
      { algorithm: 'HmacSHA256' },
      { subType: 'hotp' },
      { secretEncoding: 'HEX' },
    ];
    for (const other of others) {
      const credentials = [otp({ ...usual, ...other }, value)];
      assert.equal(personOf({ credentials }).totp, undefined);
      assert.deepEqual(notesOf({ credentials }), ['SECOND-FACTOR-LOST']);
    }
    assert.deepEqual(notesOf({ credentials: [otp(usual, 'short')] }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ credentials: [otp(usual, value), otp(usual, value)] }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ totp: true }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ credentials: [{ type: 'webauthn' }] }), ['CREDENTIAL-DROPPED']);
  });
});

describe('Keycloak: anything else', () => {
  it('never throws', () => {
    const junk = [null, 5, 'x', [], {}, [null, 5, 'x', [], {}]];
    const keys = ['username', 'credentials', 'attributes', 'requiredActions', 'federatedIdentities', 'realmRoles'];
    for (const key of keys)
      for (const value of junk) assert.doesNotThrow(() => convert({ username: 'ann', [key]: value }));
    for (const value of junk) {
      const texts = {
        secretData: JSON.stringify(value),
        credentialData: JSON.stringify(value),
        hashedSaltedValue: value,
      };
      for (const type of ['password', 'otp', 5])
        assert.doesNotThrow(() => convert({ username: 'a', credentials: [{ type, ...texts }] }));
    }
  });

  it('is not recognized as a user of Keycloak', () => {
    assert.equal(keycloak.recognizes({ id: '1', username: 'ann', email: 'ann@example.com' }, 'json'), 0);
    assert.equal(keycloak.recognizes({ id: '1', credentials: { password: {} } }, 'json'), 0);
    assert.equal(keycloak.recognizes({ username: 'ann', enabled: true, requiredActions: [] }, 'json'), 0.8);
    assert.equal(keycloak.recognizes({ username: 'ann', createdTimestamp: 1 }, 'json'), 1);
  });

  it('is recognized inside a realm, even with only a name or an address', () => {
    const inRealm = { '@context': { realm: 'acme' } };
    assert.equal(keycloak.recognizes({ username: 'ann', email: 'ann@example.com', ...inRealm }, 'json'), 0.9);
    assert.equal(keycloak.recognizes({ email: 'ann@example.com', ...inRealm }, 'json'), 0.9);
    assert.equal(keycloak.recognizes({ name: 'a role', ...inRealm }, 'json'), 0);
  });
});

/** Users of SuperTokens: their login methods in each form, and the hashes that need a key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { type Person, toEntry } from '../../../src/sources/entry.ts';
import { UsageError } from '../../../src/sources/read/records.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { supertokens } from '../../../src/sources/systems/supertokens.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(supertokens, record);
const HASH = bcrypt.hashSync('correct horse', 4);
const byPassword = (more: Fields = {}) => ({
  recipeId: 'emailpassword',
  email: 'ann@example.com',
  isVerified: true,
  passwordHash: HASH,
  hashingAlgorithm: 'bcrypt',
  ...more,
});
const byGoogle = { recipeId: 'thirdparty', email: 'a@g.example', thirdPartyId: 'google', thirdPartyUserId: '100' };

describe('a user of the bulk import', () => {
  it('is converted with roles, metadata and authenticator app', () => {
    const person = convert({
      externalUserId: 'u-1',
      userMetadata: { first_name: 'Ann', last_name: 'Ash', plan: 'gold' },
      userRoles: [{ role: 'admin', tenantIds: ['public'] }],
      totpDevices: [{ secretKey: 'JBSWY3DPEHPK3PXP', period: 30, skew: 1, deviceName: 'phone' }],
      loginMethods: [byPassword({ tenantIds: ['public', 't1'] })],
    });
    assert.deepEqual(person, {
      userId: 'u-1',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Ash',
      hash: HASH,
      totp: 'JBSWY3DPEHPK3PXP',
      links: [],
      metadata: {
        userMetadata: { first_name: 'Ann', last_name: 'Ash', plan: 'gold' },
        userRoles: [{ role: 'admin', tenantIds: ['public'] }],
        tenantIds: ['t1'],
      },
      notes: [],
    });
    assertVerifies(person.hash, 'correct horse');
  });

  it('is taken from its primary password method, whatever precedes it', () => {
    const person = convert({
      loginMethods: [
        { ...byGoogle, isPrimary: true, isVerified: true },
        byPassword({ email: 'old@example.com', timeJoinedInMSSinceEpoch: 1 }),
        byPassword({ isPrimary: true, timeJoinedInMSSinceEpoch: 2 }),
        { recipeId: 'passwordless', phoneNumber: '+41791234567', isVerified: true },
        { ...byGoogle, tenantIds: ['t2'], email: 'other@g.example' },
      ],
    });
    assert.equal(person.email, 'ann@example.com');
    assert.equal(person.phone, '+41791234567');
    assert.equal(person.phoneVerified, true);
    const google = { provider: 'google', externalUserId: '100', displayName: 'a@g.example' };
    assert.deepEqual(toEntry(person, 'o').entry.user.idps?.length, 1);
    assert.deepEqual(person.links?.[0], google);
    assert.deepEqual(noteIds(person), ['LOGIN-METHOD-DROPPED']);
  });

  it('may have its id in the method, roles by name alone, and a single name', () => {
    const person = convert({
      userMetadata: { name: 'Ann Ash', nickname: 'annie' },
      roles: ['admin'],
      loginMethods: [byPassword({ externalUserId: 'u-2' })],
    });
    assert.deepEqual([person.userId, person.displayName, person.nickName], ['u-2', 'Ann Ash', 'annie']);
    assert.deepEqual(person.metadata?.userRoles, ['admin']);
  });

  it('is taken from the oldest method if none is marked', () => {
    const newer = byPassword({ timeJoinedInMSSinceEpoch: 2 });
    const older = byPassword({ email: 'old@example.com', timeJoinedInMSSinceEpoch: 1 });
    assert.equal(convert({ loginMethods: [newer, older] }).email, 'old@example.com');
    assert.equal(convert({ loginMethods: [byPassword(), older] }).email, 'old@example.com');
  });

  it('has a verified address if any of its methods says so; if none does, it is unknown', () => {
    const google = { ...byGoogle, email: 'ANN@example.com', isVerified: true };
    assert.equal(convert({ loginMethods: [byPassword({ isVerified: false }), google] }).emailVerified, true);
    assert.equal(convert({ loginMethods: [byPassword({ isVerified: false })] }).emailVerified, false);
    assert.equal(convert({ loginMethods: [byPassword({ isVerified: undefined })] }).emailVerified, undefined);
    assert.equal(convert({ loginMethods: [byPassword({ isVerified: false }), byGoogle] }).emailVerified, false);
  });

  it('is noted if its only login method was codes', () => {
    const byCode = { recipeId: 'passwordless', email: 'ann@example.com', isVerified: true };
    assert.deepEqual(noteIds(convert({ loginMethods: [byCode] })), ['PASSWORDLESS-DROPPED']);
    assert.deepEqual(noteIds(convert({ loginMethods: [byGoogle] })), []);
    assert.deepEqual(noteIds(convert({ loginMethods: [byPassword(), byCode] })), []);
  });

  it('keeps a plain password including trailing spaces, and prefers a hash', () => {
    const plain = { passwordHash: undefined, plainTextPassword: ' correct horse ' };
    assert.equal(convert({ loginMethods: [byPassword(plain)] }).password, ' correct horse ');
    assert.equal(convert({ loginMethods: [byPassword({ plainTextPassword: 'x' })] }).password, undefined);
    const asDocumented = { passwordHash: undefined, plaintextPassword: 'correct horse' };
    assert.equal(convert({ loginMethods: [byPassword(asDocumented)] }).password, 'correct horse');
  });

  it('keeps all apps with their periods and names, but for those that were never verified', () => {
    const device = (secretKey: string, period: number) => ({ secretKey, period, skew: 1 });
    const one = convert({ totpDevices: [device('JBSWY3DPEHPK3PXP', 60)], loginMethods: [byPassword()] });
    assert.deepEqual(one.totps, [{ secret: 'JBSWY3DPEHPK3PXP', period: 60 }]);
    const devices = [
      device('JBSWY3DPEHPK3PXP', 60),
      { ...device('GEZDGNBVGY3TQOJQ', 30), deviceName: 'Tablet' },
      { ...device('GEZDGNBVGY3TQOJR', 30), verified: false },
    ];
    const two = convert({ totpDevices: devices, loginMethods: [byPassword()] });
    assert.deepEqual(two.totps, [
      { secret: 'JBSWY3DPEHPK3PXP', period: 60 },
      { secret: 'GEZDGNBVGY3TQOJQ', name: 'Tablet' },
    ]);
    assert.deepEqual(noteIds(two), []);
    const broken = convert({ totpDevices: [device('JBSWY3DPEHPK3PXP', 5)], loginMethods: [byPassword()] });
    assert.deepEqual(noteIds(broken), ['SECOND-FACTOR-LOST']);
  });
});

describe('a user of the Core', () => {
  it('is converted from GET /users, which has no hashes', () => {
    const person = convert({
      id: 'u-2',
      isPrimaryUser: true,
      tenantIds: ['public'],
      timeJoined: 1700000000000,
      emails: ['ann@example.com'],
      phoneNumbers: [],
      thirdParty: [{ id: 'github', userId: '7' }],
      loginMethods: [
        { recipeId: 'emailpassword', recipeUserId: 'r-1', email: 'ann@example.com', verified: true, timeJoined: 1 },
        { recipeId: 'thirdparty', email: 'ann@example.com', thirdParty: { id: 'github', userId: '7' }, timeJoined: 0 },
      ],
    });
    assert.deepEqual(person, {
      userId: 'u-2',
      email: 'ann@example.com',
      emailVerified: true,
      links: [{ provider: 'github', externalUserId: '7', displayName: 'ann@example.com' }],
      oldSignIn: { ways: ['password', 'provider'] },
      metadata: { userMetadata: undefined, userRoles: undefined, tenantIds: undefined },
      notes: [],
    });
  });

  it('is converted from responses before account linking', () => {
    const user = { id: 'u-3', email: 'ann@example.com', timeJoined: 1, tenantIds: ['t1'] };
    const person = convert({ recipeId: 'emailpassword', user });
    assert.equal(person.userId, 'u-3');
    assert.equal(person.email, 'ann@example.com');
    assert.equal(person.emailVerified, undefined);
    assert.deepEqual(person.metadata?.tenantIds, ['t1']);
  });

  it('is converted from rows of the tables', () => {
    const row = { user_id: 'u-4', email: 'ann@example.com', password_hash: HASH, time_joined: '1700000000000' };
    assert.deepEqual(noteIds(convert(row)), []);
    assert.equal(convert(row).hash, HASH);
    assert.equal(convert(row).userId, 'u-4');
    const joined = convert({
      ...row,
      external_user_id: 'x-4',
      is_verified: 't',
      user_metadata: '{"first_name":"Ann"}',
    });
    assert.equal(joined.userId, 'x-4');
    assert.equal(joined.emailVerified, true);
    assert.equal(joined.firstName, 'Ann');
    const google = convert({
      user_id: 'u-5',
      email: 'a@g.example',
      third_party_id: 'google',
      third_party_user_id: '1',
      time_joined: '1',
    });
    assert.deepEqual(google.links, [{ provider: 'google', externalUserId: '1', displayName: 'a@g.example' }]);
  });
});

describe("a hash of Firebase's scrypt", () => {
  // Known answer of github.com/firebase/scrypt.
  const KEY = 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==';
  const DIGEST = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==';
  const FORMS = ['m=14$r=8$s=Bw==', 's=Bw==$m=14$r=8'].map((form) => `$f_scrypt$${DIGEST}$42xEC+ixf3L2lw==$${form}`);
  const withKey = (hashConfig: string | undefined, passwordHash: string) =>
    supertokens.converter({ hashConfig })({ loginMethods: [byPassword({ passwordHash })] }) as Person;

  it('verifies with the signer key, in any order of its settings', () => {
    const configs = [
      `${KEY}\n`,
      `{"signerKey":"${KEY}"}`,
      `hash_config {\n  base64_signer_key: ${KEY},\n  rounds: 8,\n}`,
    ];
    for (const config of configs) assert.equal(withKey(config, FORMS[0] ?? '').hash?.includes(`sk=${KEY}$`), true);
    for (const form of FORMS) assertVerifies(withKey(KEY, form).hash, 'user1password');
  });

  it('is rejected by name without the key, or if it is invalid', () => {
    const person = withKey(undefined, FORMS[0] ?? '');
    assert.equal(person.hash, '$firebase-scrypt$');
    assert.deepEqual(noteIds(person), ['HASH-CONFIG-MISSING']);
    for (const broken of ['$f_scrypt$', '$f_scrypt$a$b$m=1$r=1', `$f_scrypt$${DIGEST}$!$m=14$r=8$s=Bw==`]) {
      assertRefused(withKey(KEY, broken), '$firebase-scrypt$');
    }
  });

  it('needs a key in the given file, and the message does not repeat the file', () => {
    for (const hashConfig of ['', '{}', '{"signerKey":7', 'not a key!']) {
      assert.throws(
        () => supertokens.converter({ hashConfig }),
        (error) => error instanceof UsageError && !error.message.includes('not a key'),
      );
    }
  });
});

describe('recognizing SuperTokens', () => {
  it('uses recipes and the columns of its tables', () => {
    assert.equal(supertokens.recognizes({ loginMethods: [byPassword()] }, 'json'), 1);
    assert.equal(supertokens.recognizes({ recipeId: 'thirdparty', user: {} }, 'json'), 0.9);
    const row = { user_id: '1', email: '', password_hash: '', time_joined: '1' };
    assert.equal(supertokens.recognizes(row, 'csv'), 0.9);
    assert.equal(supertokens.recognizes({ user_id: '1', email: '', password_hash: '' }, 'csv'), 0);
    assert.equal(supertokens.recognizes({ loginMethods: ['emailpassword'] }, 'json'), 0);
  });
});

describe('how a user of SuperTokens signed in', () => {
  it('is told by the login methods', () => {
    const waysOf = (...loginMethods: Fields[]) => convert({ loginMethods }).oldSignIn?.ways;
    const passwordless = { recipeId: 'passwordless' };
    assert.deepEqual(waysOf({ ...passwordless, email: 'a@example.com' }), ['mailCode']);
    assert.deepEqual(waysOf({ ...passwordless, phoneNumber: '+41791234567' }), ['sms']);
    assert.deepEqual(waysOf(byGoogle), ['provider']);
    assert.deepEqual(waysOf({ recipeId: 'webauthn', email: 'a@example.com' }), ['passkey']);
    assert.deepEqual(noteIds(convert({ loginMethods: [{ recipeId: 'webauthn', email: 'a@example.com' }] })), [
      'PASSWORDLESS-DROPPED',
      'PASSKEY-LOST',
    ]);
  });
});

/** Users of Logto: hashes of other systems, factors and identities. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { logto } from '../../../src/sources/systems/logto.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(logto, record);

const ANN = { id: '1', primary_email: 'a@example.com' };
const of = (method: string, text: unknown) => {
  const password = typeof text === 'string' ? text : JSON.stringify(text);
  return convert({ ...ANN, password_encryption_method: method, password_encrypted: password });
};

test("Logto's own hashes are taken as they are", () => {
  assert.equal(of('Argon2i', '$argon2i$x').hash, '$argon2i$x');
  assert.equal(of('SHA256', 'ab').hash, 'ab');
});

test("digests of other systems verify: the vectors of Logto's own tests", () => {
  const sha256 = 'c465f66c6ac481a7a17e9ed5b4e2e7e7288d892f12bf1c95c140901e9a70436e';
  assertVerifies(of('Legacy', ['sha256', ['salt123', '@'], sha256]).hash, 'password123');
  assertVerifies(of('Legacy', ['md5', ['@'], '51533f457802f105fc615463db7f0e20']).hash, 'simple_password');
  const firebase = [
    '42xEC+ixf3L2lw==',
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
    'Bw==',
    '8',
    '14',
    '@',
  ];
  const scrypt = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==';
  assertVerifies(of('Legacy', ['firebase-scrypt', firebase, scrypt]).hash, 'user1password');
});

test('the password must be the first or the last text, once', () => {
  assertRefused(
    of('Legacy', ['sha1', ['prefix', '@', 'suffix'], '1e51b70835fc01a385d43117299e147203d098c6']),
    '$sha1$',
  );
  assertRefused(of('Legacy', ['md5', ['@', '@'], '00'.repeat(16)]), '$md5$');
  assertRefused(of('Legacy', ['sha3-256', ['@'], '00'.repeat(32)]), '$sha3-256$');
  assertRefused(of('Legacy', 'no JSON'), '$logto-legacy$');
  assertRefused(of('Legacy', ['pbkdf2', ['hex:zz', '9', '32', 'sha256', '@'], '00']), '$pbkdf2$');
});

test('numbers get their plus sign, and addresses count as verified', () => {
  const person = convert({ ...ANN, primary_phone: '41791234567', identities: '{"google":{"userId":"7"}}' });
  assert.equal(person.phone, '+41791234567');
  assert.equal(person.emailVerified, true);
  assert.deepEqual(person.links, [{ provider: 'google', externalUserId: '7' }]);
  assert.deepEqual(noteIds(person), ['LOGTO-ADDRESS-VERIFIED']);
});

test('accounts at connections of companies become links, as the API and the table write them', () => {
  const link = { provider: 'sso:c7', externalUserId: '9' };
  const ofApi = convert({
    ...ANN,
    ssoIdentities: [{ ssoConnectorId: 'c7', identityId: '9', issuer: 'https://a.example' }],
  });
  const ofTable = convert({ ...ANN, sso_identities: '[{"sso_connector_id":"c7","identity_id":"9"}]' });
  for (const { links, oldSignIn } of [ofApi, ofTable]) {
    assert.deepEqual(links, [link]);
    assert.deepEqual(oldSignIn?.ways, ['enterprise']);
  }
});

test('what cannot be read is noted, and a passkey also as a second factor where there is no app', () => {
  const totp = { type: 'Totp', key: 'JBSWY3DPEHPK3PXPAAAA' };
  const of = (...kinds: Fields[]) =>
    noteIds(convert({ id: '1', username: 'ann', mfa_verifications: JSON.stringify(kinds) }));
  assert.deepEqual(of(totp), []);
  assert.deepEqual(of(totp, { type: 'WebAuthn', rpId: 'example.com' }), ['PASSKEY-LOST']);
  assert.deepEqual(of({ type: 'WebAuthn' }), ['PASSKEY-LOST', 'SECOND-FACTOR-LOST']);
  assert.deepEqual(of(totp, { type: 'Sms' }), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(noteIds(convert({ id: '1', username: 'ann', mfaVerificationFactors: ['Totp', 'BackupCode'] })), [
    'SECOND-FACTOR-LOST',
    'RECOVERY-CODES-LOST',
  ]);
});

test('a password that the API does not return is noted; who has neither password nor account came by a code', () => {
  const hidden = convert({ id: '1', username: 'ann', hasPassword: true });
  assert.deepEqual(noteIds(hidden), ['PASSWORD-NOT-EXPORTED']);
  assert.deepEqual(convert(ANN).oldSignIn?.ways, ['mailCode']);
  assert.deepEqual(convert({ id: '1', primary_phone: '41791234567' }).oldSignIn?.ways, ['sms']);
  assert.equal(of('Argon2i', '$argon2i$x').oldSignIn, undefined);
});

test('the picture and the claims of the profile are kept', () => {
  const profile = { givenName: 'Ann', gender: 'female', zoneinfo: 'Europe/Zurich', website: '' };
  const { metadata, gender } = convert({ ...ANN, avatar: 'https://example.com/ann.png', profile });
  assert.equal(gender, 'GENDER_FEMALE');
  assert.deepEqual(metadata, {
    picture: 'https://example.com/ann.png',
    profile: { gender: 'female', zoneinfo: 'Europe/Zurich' },
  });
});

/** Users of Stytch: verified values come first. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { stytch } from '../../../src/sources/systems/stytch.ts';
import { assertRefused, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(stytch, record);

test('a verified address is preferred to an earlier one', () => {
  const emails = [
    { email: 'a@example.com', verified: false },
    { email: 'b@example.com', verified: true },
  ];
  const person = convert({
    user_id: 'user-live-1',
    emails,
    trusted_metadata: { plan: 'gold' },
    totps: [{ totp_id: 'x' }],
  });
  assert.equal(person.email, 'b@example.com');
  assert.equal(person.emailVerified, true);
  assert.deepEqual(person.metadata, { external_id: undefined, trusted_metadata: { plan: 'gold' } });
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
});

test('hashes that a migration tool wrote to the users count too, and another method is refused', () => {
  const hash = 'A'.repeat(43);
  const user = { user_id: 'user-test-1', emails: [], hash, salt: 's-lt', request_id: 'r', hashAlgorithm: 'scrypt' };
  const person = convert(user);
  assert.equal(person.hash, `$scrypt$ln=15,r=8,p=1$cy1sdA$${hash}`);
  assert.deepEqual(person.metadata, { external_id: undefined });
  assertRefused(convert({ ...user, hashAlgorithm: 'argon2' }), '$stytch-argon2$');
  assertRefused(convert({ ...user, hash: 'AAAA' }), '$stytch-scrypt$');
});

test('passkeys, biometrics and wallets are noted, if their registration was finished', () => {
  const notesOf = (more: Fields) => noteIds(convert({ user_id: 'user-test-1', emails: [], ...more }));
  assert.deepEqual(notesOf({ webauthn_registrations: [{ webauthn_registration_id: 'w', verified: true }] }), [
    'PASSKEY-LOST',
  ]);
  assert.deepEqual(notesOf({ biometric_registrations: [{ verified: true }] }), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(notesOf({ crypto_wallets: [{ verified: true }] }), ['WALLET-LOST']);
  assert.deepEqual(notesOf({ totps: [{ verified: false }], webauthn_registrations: [{ verified: false }] }), []);
});

test('how users signed in, and whether the password must be reset', () => {
  const of = (more: Fields) => convert({ user_id: 'user-test-1', emails: [{ email: 'a@example.com' }], ...more });
  assert.deepEqual(of({}).oldSignIn?.ways, ['mailCode']);
  assert.deepEqual(of({ emails: [], phone_numbers: [{ phone_number: '+41791234567' }] }).oldSignIn?.ways, ['sms']);
  assert.equal(of({ password: { password_id: 'p' } }).oldSignIn, undefined);
  const google = { providers: [{ provider_type: 'Google', provider_subject: '7' }] };
  assert.deepEqual(of(google).oldSignIn?.ways, ['provider']);
  assert.equal(of({ password: { password_id: 'p', requires_reset: true } }).passwordChangeRequired, true);
});

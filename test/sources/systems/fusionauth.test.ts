/** Users of FusionAuth, except for their hashes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTotpKey } from '../../../src/passwords/totp-secret.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { fusionauth } from '../../../src/sources/systems/fusionauth.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(fusionauth, record);
const SECRET = Buffer.from('12345678901234567890').toString('base64');
const app = (secret?: string) => ({ method: 'authenticator', authenticator: { algorithm: 'HmacSHA1' }, secret });

describe('a user of FusionAuth', () => {
  it('is converted with all their own data', () => {
    const person = convert({
      id: 'u-1',
      tenantId: 't-1',
      active: true,
      email: 'ann@example.com',
      username: 'ann',
      verified: true,
      firstName: 'Ann',
      middleName: 'M',
      lastName: 'Ash',
      fullName: 'Ann M Ash',
      birthDate: '1976-05-30',
      imageUrl: 'https://example.com/a.png',
      timezone: 'Europe/Zurich',
      mobilePhone: '303-555-1234',
      preferredLanguages: ['de_CH', 'en'],
      passwordChangeRequired: true,
      data: { plan: 'gold' },
      registrations: [
        { id: 'r-1', applicationId: 'a-1', insertInstant: 1, roles: ['admin'], username: 'x', tokens: { google: 't' } },
      ],
      memberships: [{ id: 'm-1', groupId: 'g-1', insertInstant: 1, data: { since: 2020 } }],
      insertInstant: 1331449200000,
      lastLoginInstant: 1471786483322,
      usernameStatus: 'ACTIVE',
    });
    assert.deepEqual(person, {
      orgId: 't-1',
      userId: 'u-1',
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Ash',
      displayName: 'Ann M Ash',
      language: 'de_CH',
      phone: '303-555-1234',
      passwordChangeRequired: true,
      metadata: {
        middleName: 'M',
        birthDate: '1976-05-30',
        imageUrl: 'https://example.com/a.png',
        timezone: 'Europe/Zurich',
        parentEmail: undefined,
        mobilePhone: undefined,
        data: { plan: 'gold' },
        registrations: [{ applicationId: 'a-1', username: 'x', roles: ['admin'] }],
        memberships: [{ groupId: 'g-1', data: { since: 2020 } }],
      },
      links: [],
      notes: [],
    });
  });

  it('is inactive if not active or expired; a future expiry date is noted', () => {
    assert.equal(convert({ active: false }).state, 'inactive');
    assert.equal(convert({ active: true, expiry: 1571786483322 }).state, 'inactive');
    assert.equal(convert({}).state, undefined);
    const later = convert({ active: true, expiry: Date.now() + 86_400_000 });
    assert.equal(later.state, undefined);
    assert.deepEqual(noteIds(later), ['EXPIRY-DROPPED']);
  });

  it('has addresses and phones verified separately if identities say so', () => {
    const identities = [
      { type: 'email', value: 'ann@example.com', verified: true },
      { type: 'phoneNumber', value: '+13035551212', verified: false },
    ];
    const record = {
      email: 'ann@example.com',
      phoneNumber: '+13035551212',
      mobilePhone: '+13035551234',
      verified: false,
    };
    const person = convert({ ...record, identities });
    assert.equal(person.emailVerified, true);
    assert.equal(person.phone, '+13035551212');
    assert.equal(person.phoneVerified, false);
    assert.equal(person.metadata?.mobilePhone, '+13035551234');
    assert.equal(convert(record).emailVerified, false);
    assert.equal(convert({ email: 'ann@example.com' }).emailVerified, undefined);
  });

  it('without a main address has the one in data.email, as unverified', () => {
    const person = convert({ username: 'ann', verified: true, data: { email: 'ann@example.com' } });
    assert.equal(person.email, 'ann@example.com');
    assert.equal(person.emailVerified, undefined);
  });

  it('without a scheme has a plain password, including trailing spaces', () => {
    assert.equal(convert({ password: ' correct horse ' }).password, ' correct horse ');
    assert.equal(convert({ password: '' }).password, undefined);
  });
});

describe('a second factor of FusionAuth', () => {
  it('of an authenticator app is imported, in base32', () => {
    const { totp, notes } = convert({ twoFactor: { methods: [app(SECRET)] } });
    assert.deepEqual(readTotpKey(totp ?? ''), {
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      algorithm: 'SHA1',
      digits: 6,
      periodS: 30,
    });
    assert.deepEqual(notes, []);
    assert.equal(convert({ twoFactorEnabled: true, twoFactorSecret: SECRET }).totp, totp);
    assert.equal(convert({ twoFactorEnabled: false, twoFactorSecret: SECRET }).totp, undefined);
  });

  it('that is not imported is noted', () => {
    const other = { method: 'sms', mobilePhone: '+41790000000' };
    const user = { mobilePhone: '+41791234567' };
    for (const methods of [[app()], [other], [other, app(SECRET)], [app('!')]]) {
      assert.deepEqual(noteIds(convert({ ...user, twoFactor: { methods } })), ['SECOND-FACTOR-LOST']);
    }
  });
});

describe('recognizing FusionAuth', () => {
  it('uses names that only it has', () => {
    assert.equal(fusionauth.recognizes({ encryptionScheme: 'bcrypt' }, 'json'), 1);
    assert.equal(fusionauth.recognizes({ registrations: [{ applicationId: 'a' }] }, 'json'), 0.9);
    assert.equal(fusionauth.recognizes({ active: true, insertInstant: 1 }, 'json'), 0.8);
    assert.equal(fusionauth.recognizes({ id: '1', email: 'a@example.com', active: true, username: 'a' }, 'json'), 0);
  });
});

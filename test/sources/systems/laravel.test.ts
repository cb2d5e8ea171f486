/** Users of Laravel: how its table is converted, from JSON and CSV. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import type { Fields } from '../../../src/sources/source.ts';
import { laravel } from '../../../src/sources/systems/laravel.ts';
import { assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(laravel, record);
const AT = '2024-03-01T09:00:00.000000Z';
const HASH = bcrypt.hashSync('correct hörse', 4).replace('$2b$', '$2y$');
const ANN = { id: 1, name: 'Ann Ash', email: 'ann@example.com', email_verified_at: AT, password: HASH };

describe('a user of Laravel', () => {
  it('is converted with custom columns, except for secrets', () => {
    const person = convert({
      ...ANN,
      remember_token: 'x',
      two_factor_secret: null,
      two_factor_recovery_codes: null,
      created_at: AT,
      updated_at: AT,
      role: 'admin',
      settings: { theme: 'dark' },
      company_id: 7,
      footprint: 3,
      weekly_digest: true,
      api_token: 'x',
      stripe_secret: 'x',
    });
    assert.deepEqual(person, {
      userId: '1',
      email: 'ann@example.com',
      emailVerified: true,
      displayName: 'Ann Ash',
      hash: HASH,
      links: [],
      metadata: { role: 'admin', settings: { theme: 'dark' }, company_id: 7, footprint: 3, weekly_digest: true },
      notes: [],
    });
    assertVerifies(person.hash, 'correct hörse');
  });

  it('has a verified address only with a date, however null is written; without the column it is unknown', () => {
    for (const nothing of [null, '', 'NULL', '\\N', '0000-00-00 00:00:00']) {
      assert.equal(convert({ ...ANN, email_verified_at: nothing }).emailVerified, false);
    }
    assert.equal(convert({ ...ANN, email_verified_at: '2024-03-01 09:00:00' }).emailVerified, true);
    const { email_verified_at, ...without } = ANN;
    assert.equal(email_verified_at, AT);
    assert.equal(convert(without).emailVerified, undefined);
  });

  it('is skipped if soft-deleted, and only then', () => {
    assert.ok('skip' in laravel.converter({})({ ...ANN, deleted_at: AT }));
    for (const deleted_at of [null, '', 'NULL', '\\N', '0000-00-00 00:00:00']) {
      assert.equal(convert({ ...ANN, deleted_at }).userId, '1');
    }
  });

  it('is inactive if the application says so', () => {
    const flags = [
      { is_active: 0 },
      { active: 'f' },
      { banned_at: AT },
      { is_blocked: 1 },
      { status: 'Suspended' },
      { status: 3 },
    ];
    for (const flag of flags) assert.equal(convert({ ...ANN, ...flag }).state, 'inactive', JSON.stringify(flag));
    const others = [{ is_active: 1 }, { banned_at: null }, { blocked: '0' }, { status: 'active' }, { status: 1 }];
    for (const flag of others) assert.equal(convert({ ...ANN, ...flag }).state, undefined, JSON.stringify(flag));
  });

  it('has links to the providers of Socialite', () => {
    const { links } = convert({ ...ANN, provider: 'github', provider_id: 4711, google_id: '100', facebook_id: null });
    assert.deepEqual(links, [
      { provider: 'github', externalUserId: '4711' },
      { provider: 'google', externalUserId: '100' },
    ]);
  });

  it("is noted if a second factor was enabled, whose secret is encrypted with the application's key", () => {
    const on = { two_factor_secret: 'eyJpdiI6IngifQ==', two_factor_recovery_codes: 'x' };
    const lost = ['SECOND-FACTOR-LOST', 'RECOVERY-CODES-LOST'];
    assert.deepEqual(noteIds(convert({ ...ANN, ...on })), lost);
    assert.deepEqual(noteIds(convert({ ...ANN, ...on, two_factor_confirmed_at: AT })), lost);
    assert.deepEqual(noteIds(convert({ ...ANN, ...on, two_factor_confirmed_at: null })), []);
    assert.equal(convert({ ...ANN, ...on }).totp, undefined);
  });

  it('has names and phone from any column that applications use', () => {
    const names = {
      username: 'ann',
      first_name: 'Ann',
      surname: 'Ash',
      locale: 'de',
      mobile: '079',
      phone_verified_at: AT,
    };
    const person = convert({ ...ANN, ...names });
    assert.deepEqual(
      [person.userName, person.firstName, person.lastName, person.language, person.phone, person.phoneVerified],
      ['ann', 'Ann', 'Ash', 'de', '079', true],
    );
    assert.deepEqual(person.metadata, {});
  });
});

describe('a user in a page of API resources', () => {
  it('has no metadata from the surrounding page', () => {
    assert.deepEqual(convert({ ...ANN, '@context': { status: 'ok' } }), convert(ANN));
  });
});

describe('recognizing Laravel', () => {
  it('uses the columns of its migration', () => {
    assert.equal(laravel.recognizes({ ...ANN, remember_token: null }, 'json'), 0.95);
    assert.equal(laravel.recognizes(ANN, 'json'), 0.8);
    assert.equal(laravel.recognizes({ id: 1, email: '', password: '', remember_token: '' }, 'csv'), 0.8);
    assert.equal(laravel.recognizes({ id: 1, email: 'a@example.com', password: 'x' }, 'csv'), 0);
    assert.equal(laravel.recognizes({ ...ANN, encrypted_password: 'x' }, 'json'), 0);
  });
});

describe('how a user of Laravel signed in', () => {
  it('may be by a provider, and the password beside it is perhaps made up', () => {
    assert.deepEqual(convert({ ...ANN, google_id: '100' }).oldSignIn, {
      ways: ['password', 'provider'],
      password: 'perhaps',
    });
    const accounts = [{ provider: 'github', provider_id: '7' }];
    const joined = convert({ ...ANN, password: null, connected_accounts: JSON.stringify(accounts) });
    assert.deepEqual(joined.links, [{ provider: 'github', externalUserId: '7' }]);
    assert.deepEqual(joined.oldSignIn, { ways: ['provider'] });
    assert.equal(convert(ANN).oldSignIn, undefined);
  });

  it('may be by a passkey, which is noted', () => {
    assert.deepEqual(noteIds(convert({ ...ANN, passkeys: '[{"id":1}]' })), ['PASSKEY-LOST']);
  });
});

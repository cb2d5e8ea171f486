import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import type { Person } from '../../../src/sources/entry.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { supabase } from '../../../src/sources/systems/supabase.ts';

const AT = '2024-01-15 10:30:00.000000+00';
const ROW = { id: 'u1', email: 'ann@example.com', encrypted_password: '', email_confirmed_at: AT };
const convert = supabase.converter({});

function converted(record: Fields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(convert(record)));
}

function personOf(record: Fields): Person {
  const person = convert({ ...ROW, ...record });
  assert.ok(!('skip' in person));
  return person;
}

function notesOf(record: Fields): string[] {
  return (personOf(record).notes ?? []).map(({ id }) => id);
}

describe('Supabase: a row of auth.users', () => {
  const row = {
    instance_id: '00000000-0000-0000-0000-000000000000',
    id: 'u1',
    aud: 'authenticated',
    role: 'authenticated',
    email: 'ann@example.com',
    encrypted_password: bcrypt.hashSync('correct horse', 4),
    email_confirmed_at: AT,
    phone: '41791234567',
    phone_confirmed_at: AT,
    confirmed_at: AT,
    raw_app_meta_data: '{"provider":"email","providers":["email"],"team":"blue"}',
    raw_user_meta_data: JSON.stringify({
      sub: 'u1',
      email: 'ann@example.com',
      email_verified: true,
      phone_verified: false,
      given_name: 'Ann',
      family_name: 'Arbor',
      full_name: 'Ann Arbor',
      name: 'Ann A.',
      locale: 'de',
      newsletter: true,
    }),
    created_at: AT,
    updated_at: AT,
    banned_until: '',
    is_sso_user: 'false',
    deleted_at: '',
    is_anonymous: 'f',
  };

  it('is converted with all its columns', () => {
    assert.deepEqual(converted(row), {
      userId: 'u1',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Arbor',
      displayName: 'Ann Arbor',
      language: 'de',
      phone: '+41791234567',
      phoneVerified: true,
      state: 'active',
      hash: row.encrypted_password,
      // The name that did not become a field is not lost.
      metadata: { user_metadata: { name: 'Ann A.', newsletter: true }, app_metadata: { team: 'blue' } },
      links: [],
      oldSignIn: { password: 'perhaps' },
      notes: [],
    });
    assert.equal(verifyHash(row.encrypted_password, 'correct horse'), true);
  });

  it('gives the same result with objects in place of JSON texts, and with null for absent values', () => {
    const parsed = {
      ...row,
      raw_app_meta_data: JSON.parse(row.raw_app_meta_data),
      raw_user_meta_data: JSON.parse(row.raw_user_meta_data),
      is_sso_user: false,
      is_anonymous: false,
    };
    assert.deepEqual(converted(parsed), converted(row));
    for (const nothing of [null, 'null', 'NULL', '\\N']) {
      assert.deepEqual(converted({ ...row, banned_until: nothing, deleted_at: nothing }), converted(row));
    }
  });

  it('prefers columns that were joined to it', () => {
    const joined = { first_name: 'Jane', raw_user_meta_data: '{"first_name":"J.","last_name":"Doe"}' };
    const { firstName, lastName, metadata } = personOf(joined);
    assert.deepEqual([firstName, lastName, metadata?.user_metadata], ['Jane', 'Doe', { first_name: 'J.' }]);
  });

  it('is skipped if deleted or anonymous', () => {
    assert.ok('skip' in convert({ ...ROW, deleted_at: AT }));
    assert.ok('skip' in convert({ ...ROW, is_anonymous: 't' }));
    assert.ok('skip' in convert({ ...ROW, is_anonymous: true }));
  });

  it('is inactive while banned', () => {
    const states = ['2999-12-31 23:59:59+00', '2999-12-31 23:59:59.123+05:30', 'infinity', '2999-12-31T23:59:59Z'];
    for (const until of states) assert.equal(personOf({ banned_until: until }).state, 'inactive', until);
    for (const until of ['', 'false', 'none', '2020-01-01 00:00:00+00', '2020-01-01 00:00:00.5-08']) {
      assert.equal(personOf({ banned_until: until }).state, 'active', until);
    }
  });

  it('keeps a custom role and the mark of single sign-on', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(personOf({ role: 'manager', is_sso_user: 't' }).metadata)), {
      role: 'manager',
      is_sso_user: true,
    });
  });
});

describe('Supabase: whether the address is verified', () => {
  it('depends on email_confirmed_at', () => {
    assert.equal(personOf({}).emailVerified, true);
    assert.equal(personOf({ email_confirmed_at: '' }).emailVerified, false);
    assert.equal(personOf({ email_confirmed_at: 'null' }).emailVerified, false);
    assert.equal(personOf({ email_confirmed_at: '', confirmed_at: AT, phone_confirmed_at: AT }).emailVerified, false);
  });

  it('depends on confirmed_at only if there is no phone, which it could belong to', () => {
    const { email_confirmed_at: _, ...row } = ROW;
    const verified = (more: Fields) => (convert({ ...row, ...more }) as Person).emailVerified;
    assert.equal(verified({ confirmed_at: AT }), true);
    assert.equal(verified({ confirmed_at: '' }), false);
    assert.equal(verified({ confirmed_at: AT, phone: '41791234567' }), undefined);
    assert.equal(verified({}), undefined);
    assert.equal(verified({ app_metadata: {} }), false);
  });
});

describe('Supabase: hashes', () => {
  it('of every kind are passed on unchanged to the service', () => {
    for (const hash of ['$2a$10$x', '$argon2id$v=19$m=16,t=2,p=1$c2FsdHNhbHQ$AAAA', '$fbscrypt$v=1', '{SSHA}x']) {
      assert.equal(personOf({ encrypted_password: hash }).hash, hash);
    }
  });

  it('that the database encrypted are rejected by name', () => {
    const record = { encrypted_password: '{"key_id":"k","alg":"aes-gcm-hkdf","data":"AAAA","nonce":"AAAA"}' };
    assert.equal(personOf(record).hash, '$gotrue-encrypted$');
    assert.match(hashProblem('$gotrue-encrypted$') ?? '', /^unknown scheme/);
    assert.deepEqual(notesOf(record), ['HASH-ENCRYPTED']);
  });

  it('that are not in the export are noted, but not those that a user never had', () => {
    assert.deepEqual(notesOf({}), []);
    const { encrypted_password: _, ...row } = ROW;
    assert.deepEqual(
      (supabase.converter({})(row) as Person).notes?.map(({ id }) => id),
      ['PASSWORD-NOT-EXPORTED'],
    );
  });

  it('that only some records lack, as empty fields are left out, are not noted', () => {
    const { encrypted_password: _, ...row } = ROW;
    const run = supabase.converter({});
    run(ROW);
    assert.deepEqual((run(row) as Person).notes, []);
  });
});

describe('Supabase: phones, links and second factors', () => {
  it('restores the plus sign, and leaves other text unchanged', () => {
    assert.equal(personOf({ phone: '41791234567' }).phone, '+41791234567');
    assert.equal(personOf({ phone: '+41791234567' }).phone, '+41791234567');
    assert.equal(personOf({ phone: '079 123' }).phone, '079 123');
    assert.equal(personOf({ phone: '41791234567', phone_confirmed_at: '' }).phoneVerified, false);
    assert.equal(personOf({ phone: '' }).phone, undefined);
  });

  it("imports identities from the API and from the table, except Supabase's own", () => {
    const identities = [
      { provider: 'github', id: '4711', identity_data: { sub: '4711', full_name: 'Ann A.' } },
      { provider: 'google', provider_id: '42', id: 'uuid', identity_data: '{"sub":"42","email":"a@example.com"}' },
      { provider: 'email', provider_id: 'u1', identity_data: {} },
      { provider: 'broken' },
    ];
    const links = [
      { provider: 'github', externalUserId: '4711', displayName: 'Ann A.' },
      { provider: 'google', externalUserId: '42', displayName: 'a@example.com' },
    ];
    assert.deepEqual(personOf({ identities }).links, links);
    assert.deepEqual(personOf({ identities: JSON.stringify(identities) }).links, links);
  });

  it("finds a single provider in the user's data, and notes missing ids", () => {
    const google = { raw_app_meta_data: '{"provider":"google","providers":["google","email"]}' };
    const data = '{"provider_id":"42","sub":"42","name":"Ann"}';
    assert.deepEqual(personOf({ ...google, raw_user_meta_data: data }).links, [
      { provider: 'google', externalUserId: '42', displayName: 'Ann' },
    ]);
    assert.deepEqual(notesOf(google), ['LINK-NOT-EXPORTED']);
    const two = { raw_app_meta_data: '{"providers":["google","github"]}', raw_user_meta_data: data };
    assert.deepEqual(personOf(two).links, []);
    assert.deepEqual(notesOf(two), ['LINK-NOT-EXPORTED']);
  });

  it('imports the secret of a verified authenticator app', () => {
    const factor = { status: 'verified', factor_type: 'totp', secret: 'JBSWY3DPEHPK3PXPAAAA' };
    assert.equal(personOf({ factors: [factor] }).totp, 'JBSWY3DPEHPK3PXPAAAA');
    assert.deepEqual(notesOf({ factors: [factor] }), []);
    assert.deepEqual(notesOf({ factors: [{ ...factor, secret: undefined }] }), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(notesOf({ factors: [{ ...factor, factor_type: 'phone' }] }), ['SECOND-FACTOR-LOST']);
    assert.equal(personOf({ factors: [{ ...factor, status: 'unverified' }] }).totp, undefined);
    assert.deepEqual(notesOf({ factors: [{ ...factor, status: 'unverified' }] }), []);
  });
});

describe('Supabase: how users signed in', () => {
  const HASH = '$2a$10$abcdefghijklmnopqrstuuPK.VkcXXvvGxNVCH/0WfgeTY9vNcHk2';
  const LATER = '2024-03-01T08:00:00.000000+00:00';
  const SIGN_UP = '2024-01-15T10:30:02.000000+00:00';
  const claim = (authentication_method: string, created_at: string) => ({ authentication_method, created_at });
  const base = { encrypted_password: HASH, created_at: AT, recovery_sent_at: '' };
  const passwordOf = (record: Fields) => personOf({ ...base, ...record }).oldSignIn?.password;

  it('tells a password that was used from one that GoTrue made up', () => {
    const mailed = { recovery_sent_at: LATER };
    assert.equal(passwordOf({ amr_claims: [claim('password', LATER)] }), undefined);
    assert.equal(passwordOf({ ...mailed, amr_claims: [claim('otp', LATER)] }), 'unknown');
    assert.equal(passwordOf({ ...mailed, amr_claims: [claim('magiclink', LATER)] }), 'unknown');
    const claims = JSON.stringify([claim('otp', LATER), claim('password', LATER)]);
    assert.equal(passwordOf({ ...mailed, amr_claims: claims }), undefined);
    const phone = { email: '', email_confirmed_at: '', phone: '41791234567', phone_confirmed_at: AT };
    assert.equal(passwordOf({ ...phone, amr_claims: [claim('otp', LATER)] }), 'unknown');
  });

  it('does not take the confirmation of a sign-up for a way in, nor a password that was set by mail', () => {
    assert.equal(passwordOf({ amr_claims: [claim('otp', SIGN_UP)] }), 'perhaps');
    assert.equal(passwordOf({ amr_claims: [claim('email/signup', SIGN_UP)] }), 'perhaps');
    // The time of the mail is erased when the user sets a password.
    assert.equal(passwordOf({ amr_claims: [claim('otp', LATER)] }), 'perhaps');
    assert.equal(passwordOf({ recovery_sent_at: LATER, amr_claims: [claim('recovery', LATER)] }), 'perhaps');
    assert.equal(passwordOf({ amr_claims: [claim('oauth', LATER)] }), 'perhaps');
  });

  it('does not take the session of a sign-up by link, which is marked `password` where nothing is confirmed, for its use', () => {
    const signedUp = claim('password', SIGN_UP);
    const mailed = { recovery_sent_at: LATER };
    assert.equal(passwordOf({ ...mailed, amr_claims: [signedUp, claim('otp', LATER)] }), 'unknown');
    assert.equal(passwordOf({ amr_claims: [signedUp] }), undefined);
  });

  it('says perhaps where the export has no sessions, unless the hash came from elsewhere', () => {
    assert.equal(passwordOf({}), 'perhaps');
    assert.equal(passwordOf({ amr_claims: '' }), 'perhaps');
    assert.equal(passwordOf({ encrypted_password: '' }), undefined);
    assert.equal(passwordOf({ encrypted_password: '$argon2id$v=19$m=16,t=2,p=1$c2FsdHNhbHQ$AAAA' }), undefined);
  });

  it('names the ways', () => {
    const waysOf = (record: Fields) => personOf({ ...base, encrypted_password: '', ...record }).oldSignIn?.ways;
    const google = { raw_app_meta_data: '{"provider":"google","providers":["google"]}' };
    assert.deepEqual(waysOf({}), ['mailCode']);
    assert.deepEqual(waysOf(google), ['provider']);
    assert.deepEqual(waysOf({ is_sso_user: 't', raw_app_meta_data: '{"provider":"sso:7f","providers":["sso:7f"]}' }), [
      'enterprise',
    ]);
    assert.deepEqual(waysOf({ email: '', phone: '41791234567' }), ['sms']);
    const claims = [claim('otp', LATER), claim('passkey', LATER)];
    const mailed = { encrypted_password: HASH, recovery_sent_at: LATER, amr_claims: claims };
    assert.deepEqual(waysOf(mailed), ['mailCode', 'passkey']);
  });

  it('notes passkeys and recovery codes', () => {
    assert.deepEqual(notesOf({ passkeys: '[{"id":"p1"}]' }), ['PASSKEY-LOST']);
    assert.deepEqual(notesOf({ recovery_codes: [{ id: 'c1' }] }), ['RECOVERY-CODES-LOST']);
  });

  it('says which joins are missing', () => {
    const missing = (record: Fields) => supabase.missing?.filter(({ isIn }) => !isIn(record)).map(({ id }) => id);
    const all = ['SUPABASE-SESSIONS', 'SUPABASE-IDENTITIES', 'SUPABASE-FACTORS', 'SUPABASE-PASSKEYS'];
    assert.deepEqual(missing(ROW), all);
    assert.deepEqual(missing({ ...ROW, amr_claims: '', identities: '', factors: '', passkeys: null }), []);
    // As the API answers.
    assert.deepEqual(missing({ ...ROW, factors: [{ id: 'f1', status: 'verified' }] }), all);
  });
});

describe('Supabase: anything else', () => {
  it('never throws', () => {
    const junk = [null, 5, 'x', '{', '[1]', [], {}, [null, 5, 'x', [], {}]];
    const keys = [
      'raw_user_meta_data',
      'raw_app_meta_data',
      'identities',
      'factors',
      'amr_claims',
      'passkeys',
      'encrypted_password',
      'banned_until',
      'phone',
    ];
    for (const key of keys) for (const value of junk) assert.doesNotThrow(() => convert({ ...ROW, [key]: value }));
  });

  it('is not recognized as a user of Supabase', () => {
    assert.equal(
      supabase.recognizes({ id: '1', email: 'a@example.com', encrypted_password: 'x', sign_in_count: '0' }, 'csv'),
      0,
    );
    assert.equal(supabase.recognizes({ id: '1', app_metadata: {}, user_metadata: {} }, 'json'), 0);
    assert.equal(supabase.recognizes(ROW, 'csv'), 1);
    assert.equal(
      supabase.recognizes({ id: '1', aud: 'authenticated', app_metadata: {}, user_metadata: {} }, 'json'),
      1,
    );
  });
});

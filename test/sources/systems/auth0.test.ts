/** Users of Auth0: profiles, CSV rows, and the file of hashes that belongs to them. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fields, HashFile } from '../../../src/sources/source.ts';
import { auth0 } from '../../../src/sources/systems/auth0.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(auth0, record);
const hashFile = auth0.hashFile as HashFile;
const OID = '64f0c0de00000000000000a1';

describe('a profile of Auth0', () => {
  it('is converted to fields, with all other attributes as metadata', () => {
    const person = convert({
      user_id: `auth0|${OID}`,
      email: 'ann@example.com',
      email_verified: true,
      username: 'ann',
      given_name: 'Ann',
      family_name: 'Archer',
      name: 'Ann Archer',
      nickname: 'annie',
      locale: 'en-GB',
      gender: 'Female',
      picture: 'https://example.com/ann.png',
      phone_number: '+41791234567',
      phone_verified: true,
      app_metadata: { plan: 'gold' },
      user_metadata: {},
      company: 'Example',
      identities: [{ user_id: OID, provider: 'auth0', connection: 'Users', isSocial: false }],
      created_at: '2023-09-01T08:00:00.000Z',
      last_ip: '203.0.113.7',
      logins_count: 42,
    });
    assert.deepEqual(person, {
      userId: `auth0|${OID}`,
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Archer',
      displayName: 'Ann Archer',
      nickName: 'annie',
      language: 'en-GB',
      gender: 'GENDER_FEMALE',
      phone: '+41791234567',
      phoneVerified: true,
      metadata: { picture: 'https://example.com/ann.png', app_metadata: { plan: 'gold' }, company: 'Example' },
      links: [],
      notes: [],
    });
  });

  it('has an address of unknown verification if email_verified is missing', () => {
    const person = convert({ user_id: 'auth0|1', email: 'ann@example.com' });
    assert.deepEqual(person, { userId: 'auth0|1', email: 'ann@example.com', metadata: {}, links: [], notes: [] });
  });

  it('that is blocked becomes inactive; a name that equals the address is dropped', () => {
    const { state, displayName } = convert({
      user_id: 'auth0|1',
      email: 'a@example.com',
      name: 'a@example.com',
      blocked: true,
    });
    assert.equal(state, 'inactive');
    assert.equal(displayName, undefined);
  });

  it('has its accounts at external providers as links, by the name of an enterprise connection', () => {
    const google = { provider: 'google-oauth2', user_id: 107, connection: 'google-oauth2', isSocial: true };
    const saml = { provider: 'samlp', user_id: 'acme|ann', connection: 'acme', isSocial: false };
    const passwordless = { provider: 'email', user_id: '64f0', connection: 'email', isSocial: false };
    const linked = {
      provider: 'github',
      user_id: '7',
      connection: 'github',
      isSocial: true,
      profileData: { name: 'Annie' },
    };
    const { links } = convert({ user_id: 'google-oauth2|107', identities: [google, saml, passwordless, linked] });
    assert.deepEqual(links, [
      { provider: 'google-oauth2', externalUserId: '107' },
      { provider: 'acme', externalUserId: 'ann' },
      { provider: 'github', externalUserId: '7', displayName: 'Annie' },
    ]);
  });

  it('without a list of identities has a link if its id names an external provider', () => {
    assert.deepEqual(convert({ user_id: 'google-oauth2|107' }).links, [
      { provider: 'google-oauth2', externalUserId: '107' },
    ]);
    for (const user_id of [`auth0|${OID}`, 'sms|1', 'email|1', 'no-provider']) {
      assert.deepEqual(convert({ user_id }).links, []);
    }
  });

  it('keeps the secret of an app as second factor, and notes lost factors', () => {
    const totp = { totp: { secret: 'JBSWY3DPEHPK3PXP' } };
    const phone = { phone: { value: '+41791234567' } };
    const withSecret = convert({ email: 'a@example.com', mfa_factors: [totp] });
    assert.equal(withSecret.totp, 'JBSWY3DPEHPK3PXP');
    assert.deepEqual(noteIds(withSecret), []);
    const both = convert({ email: 'a@example.com', mfa_factors: [phone, totp] });
    assert.equal(both.totp, 'JBSWY3DPEHPK3PXP');
    assert.deepEqual([both.otpSms, both.phone, both.phoneVerified], [true, '+41791234567', true]);
    assert.deepEqual(noteIds(both), []);
    const other = convert({ email: 'a@example.com', phone_number: '+41790000000', mfa_factors: [phone] });
    assert.deepEqual([other.otpSms, noteIds(other)], [undefined, ['SECOND-FACTOR-LOST']]);
    assert.deepEqual(noteIds(convert({ user_id: 'auth0|1', multifactor: ['guardian'] })), ['SECOND-FACTOR-LOST']);
  });

  it('with wrong types does not throw', () => {
    const broken = {
      user_id: {},
      email: 7,
      identities: 'none',
      mfa_factors: [null],
      custom_password_hash: [],
      app_metadata: 1,
    };
    assert.deepEqual(convert(broken), {
      email: '7',
      metadata: { app_metadata: 1 },
      links: [],
      notes: [],
    });
  });
});

describe('a CSV row of Auth0', () => {
  it('loses the apostrophe at the start of each text, and no other', () => {
    const person = convert({
      user_id: `'auth0|${OID}`,
      email: "'rosa@example.com",
      email_verified: 'false',
      family_name: "'d'Arc",
      given_name: "''t Rosa",
      'user_metadata.country': "'CH",
      'app_metadata.plan.name': "'gold",
      created_at: '2023-09-01T08:00:00.000Z',
    });
    assert.deepEqual(person, {
      userId: `auth0|${OID}`,
      email: 'rosa@example.com',
      emailVerified: false,
      firstName: "'t Rosa",
      lastName: "d'Arc",
      metadata: { user_metadata: { country: 'CH' }, app_metadata: { 'plan.name': 'gold' } },
      links: [],
      notes: [],
    });
  });

  it('has the columns of the Import/Export extension', () => {
    const row = {
      Id: 'google-oauth2|107',
      'Given Name': 'Ann',
      'Family Name': 'Archer',
      Nickname: 'annie',
      Name: 'Ann Archer',
      Email: 'ann@example.com',
      'Email Verified': 'true',
      Picture: '',
      Connection: 'google-oauth2',
      'Created At': '2023-09-01T08:00:00.000Z',
      'Updated At': '2023-09-01T08:00:00.000Z',
    };
    const { metadata, ...person } = convert(row);
    assert.deepEqual(person, {
      userId: 'google-oauth2|107',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Archer',
      displayName: 'Ann Archer',
      nickName: 'annie',
      links: [{ provider: 'google-oauth2', externalUserId: '107' }],
      oldSignIn: { ways: ['provider'] },
      notes: [],
    });
    assert.equal(auth0.recognizes(row, 'csv'), 1);
  });

  it('with an empty email_verified counts as one without it', () => {
    assert.equal(
      convert({ user_id: "'auth0|1", email: "'a@example.com", email_verified: '' }).emailVerified,
      undefined,
    );
  });

  it('does not affect users from JSON', () => {
    const person = convert({
      user_id: 'auth0|1',
      email: "'a@example.com",
      email_verified: true,
      'user_metadata.a': 'b',
    });
    assert.equal(person.email, "'a@example.com");
    assert.deepEqual(person.metadata, { 'user_metadata.a': 'b' });
  });
});

describe('the file of hashes', () => {
  const row = {
    _id: { $oid: OID },
    email: 'Ann@Example.com',
    passwordHash: '$2b$10$x',
    tenant: 't',
    connection: 'Users',
  };

  it('is distinguished from the file of users', () => {
    assert.ok(hashFile.recognizes(row));
    assert.ok(hashFile.recognizes({ ...row, _id: undefined, _ID: row._id }));
    assert.ok(hashFile.recognizes({ _id: { $oid: OID }, email: 'a@example.com', passwordHash: '$2b$10$x' }));
    assert.ok(!hashFile.recognizes({ user_id: `auth0|${OID}`, email: 'a@example.com' }));
    assert.ok(!hashFile.recognizes({ localId: '1', email: 'a@example.com', passwordHash: 'x' }));
  });

  it('is joined by the id of the user, under either of its names', () => {
    assert.deepEqual(hashFile.keysOfHash(row), [`auth0|${OID}`, 'ann@example.com']);
    assert.deepEqual(hashFile.keysOfHash({ _ID: { $oid: OID }, passwordHash: 'x' }), [`auth0|${OID}`]);
    assert.equal(hashFile.keysOfHash({ ...row, alt_id: 'euclid' })[0], 'auth0|euclid');
    assert.deepEqual(hashFile.keysOfUser({ user_id: `auth0|${OID}`, email: 'ANN@example.com' }), [
      `auth0|${OID}`,
      'ann@example.com',
    ]);
    assert.deepEqual(hashFile.keysOfUser({ user_id: "'auth0|1", email: "'a@example.com" }), [
      'auth0|1',
      'a@example.com',
    ]);
    assert.deepEqual(hashFile.keysOfUser({ user_id: 'ann', email_verified: true }), ['auth0|ann']);
  });

  it('is joined with a database account that is linked to another account', () => {
    const identities = [
      { provider: 'google-oauth2', user_id: '107' },
      { provider: 'auth0', user_id: OID },
    ];
    assert.deepEqual(hashFile.keysOfUser({ user_id: 'google-oauth2|107', identities }), [`auth0|${OID}`]);
  });

  it('is joined by address if a line has no id, within its connection', () => {
    const byEmail = { email: 'Ann@Example.com', passwordHash: '$2b$10$x', connection: 'Users', tenant: 't' };
    assert.deepEqual(hashFile.keysOfHash(byEmail), ['ann@example.com']);
    const identifiers = [{ type: 'email', value: 'ann@example.com', verified: true }];
    assert.deepEqual(hashFile.keysOfHash({ identifiers, passwordHash: 'x' }), ['ann@example.com']);
    const user = (connection: string) => ({
      user_id: 'auth0|9',
      identities: [{ provider: 'auth0', user_id: '9', connection }],
    });
    assert.equal(convert(hashFile.join(user('Users'), byEmail)).hash, '$2b$10$x');
    assert.equal(convert(hashFile.join(user('Others'), byEmail)).hash, undefined);
    assert.equal(convert(hashFile.join({ user_id: 'auth0|9' }, byEmail)).hash, '$2b$10$x');
  });

  it('is joined by address if the user has no id, and never with an account of another kind or id', () => {
    const hashOf = (user: Fields) => convert(hashFile.join(user, row)).hash;
    assert.deepEqual(hashFile.keysOfUser({ email: row.email, name: 'A' }), ['ann@example.com']);
    assert.equal(hashOf({ email: row.email }), '$2b$10$x');
    assert.equal(hashOf({ user_id: 'google-oauth2|107', email: row.email }), undefined);
    assert.equal(hashOf({ user_id: 'auth0|other', email: row.email }), undefined);
  });

  it('skips lines without a hash', () => {
    assert.deepEqual(hashFile.keysOfHash({ ...row, passwordHash: null }), []);
  });

  it('adds its hash to the user, also from a CSV row', () => {
    assert.equal(convert(hashFile.join({ user_id: `auth0|${OID}` }, row)).hash, '$2b$10$x');
    const joined = convert(hashFile.join({ user_id: `'auth0|${OID}`, 'user_metadata.a': "'b" }, row));
    assert.equal(joined.hash, '$2b$10$x');
    assert.deepEqual(joined.metadata, { user_metadata: { a: 'b' } });
  });
});

describe('a record of Auth0', () => {
  it('is recognized by its id, its identities, or fields of the bulk import', () => {
    const records = [
      { user_id: 'auth0|1' },
      { email: 'a@example.com', custom_password_hash: { algorithm: 'md5' } },
      { email: 'a@example.com', identities: [{ provider: 'auth0', isSocial: false }] },
    ];
    for (const record of records) assert.equal(auth0.recognizes(record, 'ndjson'), 1);
    assert.ok(auth0.recognizes({ email: 'a@example.com', email_verified: true, app_metadata: {} }, 'json') > 0.5);
  });

  it('is not recognized in records of other systems', () => {
    const records = [
      { id: '1', aud: 'authenticated', email: 'a@example.com', app_metadata: {}, identities: [{ provider: 'email' }] },
      { id: '1', username: 'ann', email: 'a@example.com' },
      { user_id: '17', email: 'a@example.com', password_hash: 'x' },
      { 'cognito:username': 'ann', email: 'a@example.com', email_verified: 'true' },
      {},
    ];
    for (const record of records) assert.equal(auth0.recognizes(record, 'json'), 0);
  });
});

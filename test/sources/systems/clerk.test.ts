/** Users of Clerk: rows of its dashboard's CSV, and objects of its backend API. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { systemConverter } from '../../../src/sources/system-survey.ts';
import { clerk } from '../../../src/sources/systems/clerk.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(clerk, record);

const ROW = {
  id: 'user_1',
  first_name: 'Ann',
  last_name: 'Archer',
  username: '',
  primary_email_address: 'ann@example.com',
  primary_phone_number: '',
  verified_email_addresses: 'ann@example.com',
  unverified_email_addresses: '',
  verified_phone_numbers: '',
  unverified_phone_numbers: '',
  totp_secret: '',
  password_digest: '',
  password_hasher: '',
};

describe('a CSV row of Clerk', () => {
  it('is converted to fields', () => {
    const person = convert({
      ...ROW,
      username: 'annie',
      primary_phone_number: '+41791234567',
      unverified_phone_numbers: '+41791234567',
      totp_secret: 'JBSWY3DPEHPK3PXP',
      password_digest: '$2b$04$x',
      password_hasher: 'bcrypt',
    });
    const { metadata, ...rest } = person;
    assert.deepEqual(rest, {
      userId: 'user_1',
      userName: 'annie',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Archer',
      phone: '+41791234567',
      phoneVerified: false,
      hash: '$2b$04$x',
      totp: 'JBSWY3DPEHPK3PXP',
      links: [],
      notes: [],
    });
    assert.deepEqual(Object.values(metadata ?? {}), [undefined, undefined, undefined]);
  });

  it('has its primary address, verified only if that address itself is', () => {
    const person = convert({
      ...ROW,
      primary_email_address: 'jane.doe@example.com',
      verified_email_addresses: 'janedoe@example.com',
    });
    assert.deepEqual([person.email, person.emailVerified], ['jane.doe@example.com', false]);
    assert.deepEqual(noteIds(person), ['CLERK-PRIMARY-UNLISTED']);
    assert.deepEqual(person.metadata?.other_email_addresses, [{ value: 'janedoe@example.com', verified: true }]);
    const unverified = convert({ ...ROW, verified_email_addresses: '', unverified_email_addresses: 'Ann@Example.com' });
    assert.deepEqual([unverified.emailVerified, noteIds(unverified)], [false, []]);
  });

  it('has an address of unknown verification if there are no lists', () => {
    const { email, emailVerified, notes } = convert({
      id: 'user_1',
      primary_email_address: 'ann@example.com',
      password_hasher: '',
    });
    assert.deepEqual([email, emailVerified, notes], ['ann@example.com', undefined, []]);
  });

  it('without a primary address has the first verified one, and the others as metadata', () => {
    const person = convert({
      ...ROW,
      primary_email_address: '',
      verified_email_addresses: 'b@example.com|c@example.com',
      unverified_email_addresses: 'a@example.com, d@example.com',
    });
    assert.deepEqual([person.email, person.emailVerified], ['b@example.com', true]);
    assert.deepEqual(person.metadata?.other_email_addresses, [
      { value: 'c@example.com', verified: true },
      { value: 'a@example.com', verified: false },
      { value: 'd@example.com', verified: false },
    ]);
  });

  it('may have its lists as in JSON', () => {
    const person = convert({ ...ROW, verified_email_addresses: ['b@example.com', 'ann@example.com', 7] });
    assert.deepEqual([person.email, person.emailVerified], ['ann@example.com', true]);
  });
});

describe("a user of Clerk's API", () => {
  const contact = (id: string, key: string, value: string, status: string | undefined) => ({
    id,
    [key]: value,
    verification: status === undefined ? null : { status, strategy: 'email_code' },
  });
  const USER = {
    id: 'user_2',
    object: 'user',
    username: null,
    first_name: 'Ben',
    last_name: null,
    primary_email_address_id: 'idn_2',
    email_addresses: [
      contact('idn_1', 'email_address', 'ben@example.org', 'verified'),
      contact('idn_2', 'email_address', 'ben@example.com', 'verified'),
    ],
    phone_numbers: [],
    external_accounts: [],
    public_metadata: {},
    has_image: false,
    image_url: 'https://img.example.com/default',
    banned: false,
    locked: false,
    created_at: 1693555200000,
  };

  it('has the primary address, its metadata by name, and no generated image', () => {
    const person = convert({
      ...USER,
      locale: 'de-CH',
      external_id: 'crm-17',
      public_metadata: { plan: 'gold' },
      private_metadata: {},
      unsafe_metadata: { theme: 'dark' },
    });
    const { metadata, ...rest } = person;
    assert.deepEqual(rest, {
      userId: 'user_2',
      email: 'ben@example.com',
      emailVerified: true,
      firstName: 'Ben',
      language: 'de-CH',
      links: [],
      oldSignIn: { ways: ['mailCode'] },
      notes: [],
    });
    assert.deepEqual(JSON.parse(JSON.stringify(metadata)), {
      external_id: 'crm-17',
      public_metadata: { plan: 'gold' },
      unsafe_metadata: { theme: 'dark' },
      other_email_addresses: [{ value: 'ben@example.org', verified: true }],
    });
  });

  it('has an unverified address as unverified', () => {
    for (const status of [undefined, 'unverified', 'failed', 'expired']) {
      const email_addresses = [contact('idn_2', 'email_address', 'ben@example.com', status)];
      assert.equal(convert({ ...USER, email_addresses }).emailVerified, false);
    }
  });

  it('has its phone', () => {
    const phone_numbers = [contact('idn_3', 'phone_number', '+41791234567', 'verified')];
    const { phone, phoneVerified } = convert({ ...USER, phone_numbers, primary_phone_number_id: 'idn_3' });
    assert.deepEqual([phone, phoneVerified], ['+41791234567', true]);
  });

  it('that is banned becomes inactive, and a locked one locked', () => {
    assert.equal(convert({ ...USER, banned: true, locked: true }).state, 'inactive');
    assert.equal(convert({ ...USER, locked: true }).state, 'locked');
    assert.equal(convert({ ...USER, has_image: true }).metadata?.image_url, USER.image_url);
  });

  it('has each account at an external provider once', () => {
    const google = { provider: 'oauth_google', provider_user_id: '107', email_address: 'ben@example.com' };
    const old = { object: 'google_account', provider: 'google', google_id: '108' };
    const saml = { provider: 'saml_okta', provider_user_id: 'ben', email_address: 'ben@corp.example.com' };
    const person = convert({
      ...USER,
      external_accounts: [google, old, { provider: 'oauth_x' }],
      enterprise_accounts: [saml],
      saml_accounts: [saml],
    });
    assert.deepEqual(JSON.parse(JSON.stringify(person.links)), [
      { provider: 'oauth_google', externalUserId: '107', displayName: 'ben@example.com' },
      { provider: 'google', externalUserId: '108' },
      { provider: 'saml_okta', externalUserId: 'ben', displayName: 'ben@corp.example.com' },
    ]);
  });

  it('loses a second factor whose secret is missing, with a note', () => {
    assert.deepEqual(noteIds(convert({ ...USER, two_factor_enabled: true })), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(noteIds(convert({ ...USER, passkeys: [{ id: 'p' }] })), ['PASSKEY-LOST']);
    assert.deepEqual(noteIds(convert({ ...USER, totp_enabled: true, totp_secret: 'JBSWY3DPEHPK3PXP' })), []);
  });

  it('with wrong types does not throw', () => {
    const broken = {
      id: {},
      email_addresses: [null, 7, {}],
      primary_email_address_id: [],
      external_accounts: {},
      locked: 'x',
    };
    assert.deepEqual(noteIds(convert(broken)), []);
  });
});

describe("Clerk's columns as JSON", () => {
  const COLUMNS = { id: 'user_1', primary_email_address: 'ann@example.com', primary_phone_number: null };

  it('may have one list of addresses, without their verification', () => {
    const person = convert({ ...COLUMNS, email_addresses: ['a@example.com', 'Ann@example.com'], phone_numbers: null });
    assert.deepEqual([person.email, person.emailVerified], ['Ann@example.com', undefined]);
    assert.deepEqual(person.metadata?.other_email_addresses, [{ value: 'a@example.com', verified: false }]);
    assert.equal(person.phone, undefined);
    const apart = convert({ ...COLUMNS, email_addresses: ['a@example.com'] });
    assert.deepEqual([apart.email, apart.emailVerified], ['ann@example.com', undefined]);
    assert.deepEqual(noteIds(apart), []);
  });

  it('may have lists of verified addresses in addition, which then decide', () => {
    const email_addresses = ['ann@example.com', 'b@example.com', 'c@example.com'];
    const listed = { ...COLUMNS, email_addresses, verified_email_addresses: ['ann@example.com', 'b@example.com'] };
    const person = convert(listed);
    assert.equal(person.emailVerified, true);
    assert.deepEqual(person.metadata?.other_email_addresses, [
      { value: 'b@example.com', verified: true },
      { value: 'c@example.com', verified: false },
    ]);
  });

  it('may name no primary address, or have no list', () => {
    const first = convert({ ...COLUMNS, primary_email_address: null, email_addresses: ['b@example.com'] });
    assert.equal(first.email, 'b@example.com');
    assert.equal(convert({ ...COLUMNS, email_addresses: [] }).email, 'ann@example.com');
  });
});

describe('a record of Clerk', () => {
  it('is recognized, and others are not', () => {
    assert.equal(clerk.recognizes(ROW, 'csv'), 1);
    assert.equal(clerk.recognizes({ email_addresses: [], primary_email_address_id: null }, 'json'), 1);
    const others = [
      { id: 'user_1', email: 'a@example.com' },
      { primary_email_address: 'a@example.com' },
      { email_addresses: [] },
      {},
    ];
    for (const record of others) assert.equal(clerk.recognizes(record, 'json'), 0);
  });
});

it("recognizes the CSV's columns as JSON, with one text of addresses", () => {
  const user = {
    id: '7',
    email_addresses: 'ann@example.com|a@example.com',
    password_digest: null,
    password_hasher: null,
  };
  assert.equal(clerk.recognizes(user, 'json'), 1);
  const person = convert(user);
  assert.deepEqual([person.email, person.emailVerified], ['ann@example.com', undefined]);
});

it('takes none of what users have set up or may do for a state', () => {
  const user = { id: 'user_1', email_addresses: [], primary_email_address_id: null, banned: false, locked: false };
  for (const name of ['backup_code_enabled', 'delete_self_enabled', 'create_organization_enabled']) {
    const person = systemConverter(clerk, {})({ ...user, [name]: false });
    assert.ok(!('skip' in person));
    assert.deepEqual([person.state, person.notes], [undefined, []], name);
  }
});

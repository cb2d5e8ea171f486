/** Users of Amazon Cognito, from its API and in the format of its import jobs. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { cognito } from '../../../src/sources/systems/cognito.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(cognito, record);
const SUB = '5f0c0de0-0000-4000-8000-000000000001';

const listed = (Username: string, attributes: Record<string, string>, more: Fields = {}) => ({
  Username,
  Attributes: Object.entries(attributes).map(([Name, Value]) => ({ Name, Value })),
  UserCreateDate: '2023-09-01T08:00:00+00:00',
  Enabled: true,
  UserStatus: 'CONFIRMED',
  ...more,
});

describe('a user of Cognito', () => {
  it('is converted to fields, with all other attributes as metadata under their full names', () => {
    const attributes = {
      sub: SUB,
      email: 'ann@example.com',
      email_verified: 'true',
      given_name: 'Ann',
      family_name: 'Archer',
      name: 'Ann Archer',
      nickname: 'annie',
      locale: 'en_GB',
      gender: 'female',
      phone_number: '+41791234567',
      phone_number_verified: 'false',
      'custom:plan': 'gold',
      'dev:custom:quota': '5',
      zoneinfo: 'Europe/Zurich',
      updated_at: '1714550400',
    };
    assert.deepEqual(convert(listed('ann', attributes)), {
      userId: SUB,
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Archer',
      displayName: 'Ann Archer',
      nickName: 'annie',
      language: 'en_GB',
      gender: 'GENDER_FEMALE',
      phone: '+41791234567',
      phoneVerified: false,
      metadata: { 'custom:plan': 'gold', 'dev:custom:quota': '5', zoneinfo: 'Europe/Zurich' },
      links: [],
      notes: [],
    });
  });

  it('has no id as user name', () => {
    assert.equal(convert(listed(SUB, { sub: SUB })).userName, undefined);
    assert.equal(convert(listed('abc', { sub: 'abc' })).userName, undefined);
    assert.equal(convert(listed(SUB, { sub: SUB, preferred_username: 'ann' })).userName, 'ann');
    const named = convert(listed('ann', { sub: SUB, preferred_username: 'annie' }));
    assert.deepEqual([named.userName, named.metadata], ['ann', { preferred_username: 'annie' }]);
  });

  it('becomes inactive if it was disabled, archived or compromised, and only then', () => {
    assert.equal(convert(listed('ann', {}, { Enabled: false })).state, 'inactive');
    for (const UserStatus of ['ARCHIVED', 'COMPROMISED']) {
      assert.equal(convert(listed('ann', {}, { UserStatus })).state, 'inactive');
    }
    for (const UserStatus of ['CONFIRMED', 'UNCONFIRMED', 'RESET_REQUIRED', 'FORCE_CHANGE_PASSWORD', 'UNKNOWN']) {
      assert.equal(convert(listed('ann', {}, { UserStatus })).state, undefined);
    }
  });

  it('that did not confirm its sign-up has an unverified address', () => {
    assert.equal(convert(listed('ann', {}, { UserStatus: 'UNCONFIRMED' })).emailVerified, false);
    assert.equal(convert(listed('ann', {})).emailVerified, undefined);
  });

  it('of an external provider has a link to its account, and no generated name', () => {
    const identity = { userId: '107', providerName: 'Google', providerType: 'Google', primary: true, dateCreated: 1 };
    const other = { userId: 'ann@corp', providerName: 'Corp-SAML', providerType: 'SAML', primary: false };
    const both = [
      { provider: 'Google', externalUserId: '107' },
      { provider: 'Corp-SAML', externalUserId: 'ann@corp' },
    ];
    const texts = [JSON.stringify([identity, other]), `${JSON.stringify(identity)},${JSON.stringify(other)}`];
    for (const identities of texts) {
      const person = convert(listed('Google_107', { identities }, { UserStatus: 'EXTERNAL_PROVIDER' }));
      assert.deepEqual(person.links, both);
      assert.equal(person.userName, undefined);
      assert.deepEqual(noteIds(person), ['COGNITO-FEDERATED']);
      assert.deepEqual(person.metadata, {});
    }
    const native = convert(listed('ann', { identities: JSON.stringify([identity]) }));
    assert.deepEqual([native.userName, native.links], ['ann', both.slice(0, 1)]);
  });

  it('of an external provider without a list of identities is linked by its name', () => {
    const { links } = convert(listed('Google_a_7', {}, { UserStatus: 'EXTERNAL_PROVIDER' }));
    assert.deepEqual(links, [{ provider: 'Google', externalUserId: 'a_7' }]);
    assert.deepEqual(convert(listed('Google_a_7', {})).links, []);
  });

  it('loses a second factor, with a note', () => {
    const sms = [{ DeliveryMedium: 'SMS', AttributeName: 'phone_number' }];
    assert.deepEqual(noteIds(convert(listed('ann', {}, { MFAOptions: sms }))), ['SECOND-FACTOR-LOST']);
    assert.deepEqual(noteIds(convert(listed('ann', {}, { UserMFASettingList: ['SOFTWARE_TOKEN_MFA'] }))), [
      'SECOND-FACTOR-LOST',
    ]);
    assert.deepEqual(noteIds(convert(listed('ann', {}, { MFAOptions: [] }))), []);
  });

  it('is also converted from admin-get-user', () => {
    const person = convert({
      Username: 'ann',
      UserAttributes: [{ Name: 'email', Value: 'ann@example.com' }],
      Enabled: true,
    });
    assert.equal(person.email, 'ann@example.com');
  });

  it('with wrong types does not throw', () => {
    const Attributes = [null, 7, { Name: {} }, { Name: 'email', Value: {} }, { Name: 'identities', Value: '{' }];
    assert.deepEqual(convert({ Username: 7, Attributes }), { userName: '7', metadata: {}, links: [], notes: [] });
    assert.equal(convert({ Username: 7, Attributes, UserStatus: [] }).state, 'inactive');
  });
});

describe('a CSV row of Cognito', () => {
  const row = {
    'cognito:username': 'ann',
    name: '',
    given_name: 'Ann',
    family_name: 'Archer',
    email: 'ann@example.com',
    email_verified: 'TRUE',
    phone_number: '+41791234567',
    phone_number_verified: 'false',
    birthdate: '1990-01-31',
    updated_at: '',
    'cognito:mfa_enabled': 'true',
    'custom:plan': 'gold',
  };

  it('is converted by its attributes', () => {
    assert.deepEqual(convert(row), {
      userName: 'ann',
      email: 'ann@example.com',
      emailVerified: true,
      firstName: 'Ann',
      lastName: 'Archer',
      phone: '+41791234567',
      phoneVerified: false,
      metadata: { birthdate: '1990-01-31', 'custom:plan': 'gold' },
      links: [],
      notes: convert(listed('ann', {}, { MFAOptions: [{}] })).notes,
    });
  });

  it('has an id as its name in pools with addresses, and keeps it as id', () => {
    const { userId, userName } = convert({ ...row, 'cognito:username': SUB });
    assert.deepEqual([userId, userName], [SUB, undefined]);
  });

  it('is recognized, and others are not', () => {
    assert.equal(cognito.recognizes(row, 'csv'), 1);
    assert.equal(cognito.recognizes(listed('ann', { sub: SUB }), 'json'), 1);
    const others = [
      { Username: 'ann' },
      { email: 'a@example.com', email_verified: 'true' },
      { Username: 'a', Attributes: {} },
      {},
    ];
    for (const record of others) assert.equal(cognito.recognizes(record, 'json'), 0);
  });
});

/** Rows of AspNetUsers in the spellings of various databases, and what counts as locked out. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { verifyHash } from '../../../src/passwords/registry.ts';
import type { OldSignIn, Person } from '../../../src/sources/entry.ts';
import { aspnet } from '../../../src/sources/systems/aspnet.ts';
import { assertSamePerson } from './same-person.ts';

function convert(record: Record<string, unknown>): Person {
  const person = aspnet.converter({})(record);
  return 'skip' in person ? assert.fail(person.skip) : person;
}

const V3 = 'AQAAAAEAAAPoAAAAEAABAgMEBQYHCAkKCwwNDg8bkessTUSUpi5j5HgUvg8twVpvwYM9mZvVjSnX2UtwfA==';

const ANN = {
  Id: '8e445865-a24d-4543-a6c6-9443d048cdb9',
  UserName: 'ann',
  NormalizedUserName: 'ANN',
  Email: 'ann@example.com',
  NormalizedEmail: 'ANN@EXAMPLE.COM',
  EmailConfirmed: '1',
  PasswordHash: V3,
  SecurityStamp: 'QK5OJ2YV4RTMSJ6DJ4N3HYKZ5TRBM3XS',
  ConcurrencyStamp: '4f2b7c1e',
  PhoneNumber: '+41791234567',
  PhoneNumberConfirmed: '0',
  TwoFactorEnabled: '0',
  LockoutEnd: 'NULL',
  LockoutEnabled: '1',
  AccessFailedCount: '2',
};

const EXPECTED_ANN = {
  userId: '8e445865-a24d-4543-a6c6-9443d048cdb9',
  userName: 'ann',
  email: 'ann@example.com',
  emailVerified: true,
  firstName: undefined,
  lastName: undefined,
  displayName: undefined,
  language: undefined,
  phone: '+41791234567',
  phoneVerified: false,
  state: undefined,
  hash: V3,
  totp: undefined,
  metadata: {},
  links: [],
  notes: [],
};

test('a row from SQL Server is converted', () => {
  const person = convert(ANN);
  assertSamePerson(person, EXPECTED_ANN);
  assert.ok(verifyHash(person.hash ?? '', 'Battery_Staple2'));
});

test('columns in other spellings and custom columns are converted', () => {
  const snake = Object.entries(ANN).map(([name, value]) => {
    return [name.replace(/(?<=.)([A-Z])/g, '_$1').toLowerCase(), value === 'NULL' ? '' : value];
  });
  const own = {
    given_name: 'Ann',
    family_name: 'Arbor',
    culture: 'de-CH',
    tenant_id: '12',
    hired_on: '\\N',
    roles: [],
  };
  const names = { firstName: 'Ann', lastName: 'Arbor', language: 'de-CH' };
  assertSamePerson(convert({ ...Object.fromEntries(snake), ...own }), {
    ...EXPECTED_ANN,
    ...names,
    metadata: { tenant_id: '12' },
  });
  const camel = Object.entries(ANN).map(([name, value]) => [`${name[0]?.toLowerCase()}${name.slice(1)}`, value]);
  const json = {
    ...Object.fromEntries(camel),
    emailConfirmed: true,
    lockoutEnd: null,
    fullName: 'Ann Arbor',
    Team: { id: 1 },
  };
  assertSamePerson(convert(json), { ...EXPECTED_ANN, displayName: 'Ann Arbor', metadata: { Team: { id: 1 } } });
});

test('an empty row becomes an empty person without an error', () => {
  const empty = { ...EXPECTED_ANN, userId: undefined, userName: undefined, email: undefined, emailVerified: undefined };
  const nobody = { ...empty, phone: undefined, phoneVerified: undefined, hash: undefined };
  assertSamePerson(convert({}), nobody);
  assertSamePerson(convert({ Id: {}, Email: 'NULL', PasswordHash: 'NULL', LockoutEnd: [], Logins: 'x' }), nobody);
});

function lockout(LockoutEnd: unknown, LockoutEnabled: unknown = '1') {
  const { state, notes } = convert({ ...ANN, LockoutEnd, LockoutEnabled });
  return [state, notes?.map((note) => note.id).join()];
}

const soon = new Date(Date.now() + 3_600_000).toISOString();

test('a lockout counts until its end, if lockout is enabled', () => {
  for (const forGood of [
    '9999-12-31 23:59:59.9999999 +00:00',
    '9999-12-31T23:59:59.9999999+00:00',
    '9999-12-31 23:59:59+00',
    'infinity',
  ]) {
    assert.deepEqual(lockout(forGood), ['locked', ''], forGood);
    assert.deepEqual(lockout(forGood, '0'), [undefined, '']);
  }
  for (const over of [
    '2021-03-04 05:06:07.8900000 +00:00',
    '2021-03-04T05:06:07',
    '0001-01-01 00:00:00',
    '-infinity',
  ]) {
    assert.deepEqual(lockout(over), [undefined, ''], over);
  }
  assert.deepEqual(lockout(soon), ['locked', 'LOCKOUT-WITHOUT-END']);
  assert.deepEqual(lockout('3/1/2021 12:00:00 AM +00:00'), [undefined, '']);
  assert.deepEqual(lockout('tomorrow'), ['locked', 'LOCKOUT-UNREADABLE']);
});

test('the end of a lockout is in its own time zone, by default in UTC', () => {
  const inHalfAnHour = new Date(Date.now() + 1_800_000).toISOString().slice(0, 19);
  assert.equal(lockout(inHalfAnHour)[0], 'locked');
  assert.equal(lockout(`${inHalfAnHour}.1234567 +00:00`)[0], 'locked');
  assert.equal(lockout(`${inHalfAnHour}+01`)[0], undefined);
  assert.equal(lockout(`${inHalfAnHour} -01:00`)[0], 'locked');
});

test('the older table has another column for the lockout', () => {
  const { LockoutEnd: _, ...old } = ANN;
  assert.equal(convert({ ...old, LockoutEndDateUtc: soon.slice(0, 19).replace('T', ' ') }).state, 'locked');
});

test('a second factor is imported with its key, or noted as lost', () => {
  const key = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const factor = (more: object) => {
    const { totp, notes } = convert({ ...ANN, ...more });
    return [totp, notes?.map((note) => note.id).join()];
  };
  assert.deepEqual(factor({ TwoFactorEnabled: '1', AuthenticatorKey: key }), [key, '']);
  assert.deepEqual(factor({ TwoFactorEnabled: '1' }), [undefined, 'SECOND-FACTOR-LOST']);
  // Set up, but not enabled.
  assert.deepEqual(factor({ TwoFactorEnabled: '0', AuthenticatorKey: key }), [undefined, '']);
});

test('logins may be joined from another table, as objects or as JSON text', () => {
  const logins = [
    { LoginProvider: 'Google', ProviderKey: '1101', ProviderDisplayName: 'Google' },
    { LoginProvider: 'X' },
  ];
  const links = [{ provider: 'Google', externalUserId: '1101' }];
  const oldSignIn: OldSignIn = { ways: ['password', 'provider'] };
  assertSamePerson(convert({ ...ANN, Logins: logins }), { ...EXPECTED_ANN, links, oldSignIn });
  assertSamePerson(convert({ ...ANN, Logins: JSON.stringify(logins) }), { ...EXPECTED_ANN, links, oldSignIn });
});

test('a hash of another scheme is named, without any part of it', () => {
  const hash = (PasswordHash: string) => convert({ ...ANN, PasswordHash }).hash;
  const v2 = 'ADAxMjM0NTY3ODlhYmNkZWZckVY9iYEeZPnU5vd9xXgYQLLAihQY1zc2QPtrrsbXEQ==';
  assert.equal(hash(v2), v2);
  assert.equal(hash('geheim'), '$aspnet-identity$');
  const bcrypt = '$2a$10$R.YLNKkiLoMNjYefcfi0cuDW0XunlD/4OjY7fOFO5M9lLs5MerRaC';
  assert.equal(hash(bcrypt), bcrypt);
});

const MEMBER = {
  UserId: '6f9619ff-8b86-d011-b42d-00c04fc964f1',
  UserName: 'mona',
  Email: 'mona@old.example',
  Password: 'jiDsMaPV79h1SsC7keZMaCjHk6M=',
  PasswordFormat: '1',
  PasswordSalt: 'MDEyMzQ1Njc4OWFiY2RlZg==',
  PasswordQuestion: 'Where?',
  PasswordAnswer: 'k1',
  IsApproved: 'True',
  IsLockedOut: 'False',
};

test('a row of aspnet_Membership verifies, also where its columns were joined with bars', () => {
  assert.equal(aspnet.recognizes(MEMBER, 'csv'), 1);
  const { userId, userName, hash, state, metadata } = convert(MEMBER);
  assert.deepEqual(
    { userId, userName, state, metadata },
    {
      userId: MEMBER.UserId,
      userName: 'mona',
      state: undefined,
      metadata: {},
    },
  );
  assert.ok(verifyHash(hash ?? '', 'Pässwörd ✓ 🔑'));
  const moved = `${MEMBER.Password}|1|${MEMBER.PasswordSalt}`;
  assert.equal(convert({ ...ANN, PasswordHash: moved }).hash, hash);
  assert.equal(convert({ ...MEMBER, IsApproved: 'False' }).state, 'inactive');
  assert.equal(convert({ ...MEMBER, IsLockedOut: '1' }).state, 'locked');
});

test('a plain password of aspnet_Membership is one, and an encrypted one is named', () => {
  const plain = convert({ ...MEMBER, Password: 'secret', PasswordFormat: '0' });
  assert.deepEqual([plain.password, plain.hash], ['secret', undefined]);
  const encrypted = convert({ ...MEMBER, PasswordFormat: '2' });
  assert.deepEqual([encrypted.password, encrypted.hash], [undefined, '$aspnet-encrypted$']);
  assert.deepEqual(
    encrypted.notes?.map(({ id }) => id),
    ['HASH-UNSUPPORTED'],
  );
});

test('the table is recognized by three of its columns', () => {
  assert.equal(aspnet.recognizes(ANN, 'csv'), 1);
  assert.equal(
    aspnet.recognizes({ id: 1, lockout_enabled: true, security_stamp: '', email_confirmed: null }, 'json'),
    1,
  );
  for (const other of [
    {},
    { email: 'a', passwordHash: 'x', email_confirmed: true },
    { email_confirmed_at: 1, Id: 2 },
  ]) {
    assert.equal(aspnet.recognizes(other, 'json'), 0, JSON.stringify(other));
  }
});

/** Django's dumps and tables: how users and other models are converted, and which passwords are imported. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { verifyHash } from '../../../src/passwords/registry.ts';
import { django } from '../../../src/sources/systems/django.ts';
import { assertSamePerson } from './same-person.ts';

const convert = django.converter({});
const dumped = (fields: Record<string, unknown>, model = 'auth.user', pk: unknown = 7) => ({ model, pk, fields });

const ANN = {
  password: 'pbkdf2_sha256$1000$kT5vYx0mPzA1bQ$cnoKA7jmv4sF1byaeorI7Laz1706Ar64iTZq4Fu/xOM=',
  last_login: '2024-01-02T03:04:05.678Z',
  is_superuser: true,
  username: 'ann',
  first_name: 'Ann',
  last_name: 'Arbor',
  email: 'ann@example.com',
  is_staff: false,
  is_active: true,
  date_joined: '2023-04-05T06:07:08Z',
  groups: [1, 2],
  user_permissions: [],
};

const NOTHING = {
  userId: undefined,
  userName: undefined,
  email: undefined,
  emailVerified: undefined,
  firstName: undefined,
  lastName: undefined,
  displayName: undefined,
  phone: undefined,
  language: undefined,
  hash: undefined,
  metadata: {},
  links: [],
  oldSignIn: undefined,
  notes: [],
};

const EXPECTED_ANN = {
  ...NOTHING,
  userId: '7',
  userName: 'ann',
  email: 'ann@example.com',
  firstName: 'Ann',
  lastName: 'Arbor',
  hash: ANN.password,
  metadata: { is_superuser: true, groups: [1, 2] },
};

test('a user of a dump is converted', () => {
  const person = convert(dumped(ANN));
  assert.deepEqual(person, EXPECTED_ANN);
  assert.ok('hash' in person && verifyHash(person.hash ?? '', 'correct horse'));
});

test("a row of the table is converted, with PostgreSQL's flags", () => {
  const row = { id: '7', ...ANN, is_superuser: 't', is_staff: 'f', is_active: 't', last_login: '', groups: '' };
  assertSamePerson(convert(row), { ...EXPECTED_ANN, metadata: { is_superuser: true } });
  assertSamePerson(convert({ ...row, is_active: 'f' }), {
    ...EXPECTED_ANN,
    state: 'inactive',
    metadata: { is_superuser: true },
  });
});

test('a custom user model is converted with its own fields', () => {
  const fields = {
    password: '',
    email: 'lea@example.com',
    email_verified: true,
    name: 'Lea Lang',
    phone_number: '079 123 45 67',
    language: 'de',
    is_active: true,
    is_premium: false,
    is_member_since: '2020',
    newsletter: true,
    score: 0,
    tags: ['vip'],
    settings: {},
    note: null,
  };
  assertSamePerson(convert(dumped(fields, 'accounts.member', '7d9f1f6e-3b1c-4a55-9d0a-6c1f9c0f2a11')), {
    ...NOTHING,
    userId: '7d9f1f6e-3b1c-4a55-9d0a-6c1f9c0f2a11',
    email: 'lea@example.com',
    emailVerified: true,
    displayName: 'Lea Lang',
    phone: '079 123 45 67',
    language: 'de',
    metadata: { is_member_since: '2020', newsletter: true, score: 0, tags: ['vip'] },
  });
});

test('a dump with natural keys has no id', () => {
  const { pk: _, ...natural } = dumped({ ...ANN, groups: [['editors']] });
  const metadata = { is_superuser: true, groups: [['editors']] };
  assertSamePerson(convert(natural), { ...EXPECTED_ANN, userId: undefined, metadata });
});

test('other models are skipped, and never fail', () => {
  const skipped = { skip: 'An object of another model, not a user.' };
  for (const other of [
    dumped({ name: 'editors', permissions: [1] }, 'auth.group'),
    dumped({ session_data: 'x' }, 'sessions.session'),
    { model: 'auth.user', pk: 1 },
    { model: 'auth.user', fields: null },
    {},
  ]) {
    assertSamePerson(convert(other), skipped);
  }
  assertSamePerson(convert(dumped({ username: 7, email: [], password: {} })), {
    ...NOTHING,
    userId: '7',
    userName: '7',
  });
});

function passwordOf(password: string) {
  const person = convert(dumped({ ...ANN, password }));
  return 'skip' in person ? person : { hash: person.hash, notes: person.notes?.map((note) => note.id) };
}

test('an unusable password is not imported', () => {
  for (const none of ['!', '!dvkMQXnVhzBnGlsuIYBEcDVVWZ3SytYtKcPmBVrN']) {
    assert.deepEqual(passwordOf(none), { hash: undefined, notes: ['PASSWORD-UNUSABLE'] });
  }
  assert.deepEqual(passwordOf(''), { hash: undefined, notes: [] });
});

test('an unsupported hasher is named, without any part of its hash or of plain text', () => {
  const unsupported = (hash: string) => ({ hash, notes: ['HASH-UNSUPPORTED'] });
  assert.deepEqual(passwordOf('crypt$$aaLRqX8yZ0mJ2'), unsupported('$crypt$'));
  assert.deepEqual(passwordOf('our_own_hasher$5$abc$def'), unsupported('$our-own-hasher$'));
  assert.deepEqual(passwordOf('$argon2$v=19$m=64,t=1,p=1$x$y'), unsupported('$argon2$'));
  for (const plain of ['hunter2', 'my$ecret', 'Geheim$1$2', '$', '$$']) {
    assert.deepEqual(passwordOf(plain), unsupported('$unknown$'), plain);
  }
});

test('Django is recognized by its dumps and by the form of its passwords', () => {
  assert.equal(django.recognizes(dumped(ANN), 'json'), 1);
  assert.ok(django.recognizes(dumped({ name: 'editors' }, 'auth.group'), 'json') > 0);
  assert.ok(django.recognizes({ id: '1', ...ANN, password: '' }, 'csv') > 0.9);
  assert.ok(django.recognizes({ email: 'a', password: ANN.password, is_active: 't' }, 'csv') > 0.9);
  for (const other of [
    {},
    { model: 'Camry', year: 2001 },
    { email: 'a', password: 'geheim', is_active: 't' },
    { password: ANN.password, email: 'a' },
  ]) {
    assert.equal(django.recognizes(other, 'csv'), 0, JSON.stringify(other));
  }
});

test('an account at another system is no user, although it has a name and a password', () => {
  const account = { username: 'bot', password: 'topsecret', url: 'https://jira.example.com' };
  assert.ok('skip' in convert(dumped(account, 'shop.jirainstance')));
  assert.equal(django.recognizes(dumped(account, 'shop.jirainstance'), 'json'), 0.5);
  for (const user of [dumped(account, 'shop.customuser'), dumped({ ...account, last_login: null }, 'shop.person')])
    assert.ok(!('skip' in convert(user)));
  assert.ok(!('skip' in convert(dumped({ username: 'ann', password: ANN.password }, 'shop.person'))));
});

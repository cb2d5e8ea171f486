/** From a person to an entry: missing names, languages, phones, metadata, and notes. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { NOTES, type Person, toEntry } from '../../src/sources/entry.ts';

const profileOf = (person: Person) => toEntry(person, 'acme').entry.user.profile;
const notesOf = (person: Person) => toEntry(person, 'acme').notes.map(({ id }) => id);
const MAIL = { email: 'ann.archer@example.com', emailVerified: true };
const NAMES = { firstName: 'Ann', lastName: 'Archer' };

test('a missing name is taken from the display name, then the user name, then the address', () => {
  const cases: [Person, first: string, last: string, display: string | undefined][] = [
    [{ ...NAMES }, 'Ann', 'Archer', undefined],
    [{ ...NAMES, displayName: 'Annie' }, 'Ann', 'Archer', 'Annie'],
    [{ displayName: 'Ann van der Archer' }, 'Ann van der', 'Archer', 'Ann van der Archer'],
    [{ displayName: ' Madonna ' }, 'Madonna', 'Madonna', ' Madonna '],
    [{ firstName: 'Ann', displayName: 'Ann Archer' }, 'Ann', 'Archer', 'Ann Archer'],
    [{ firstName: 'Ann', displayName: 'Boss' }, 'Ann', 'Ann', 'Boss'],
    [{ lastName: 'Archer', displayName: 'Ann Archer' }, 'Ann', 'Archer', 'Ann Archer'],
    [{ firstName: 'Ann Archer', displayName: 'Ann Archer' }, 'Ann', 'Archer', 'Ann Archer'],
    [{ firstName: 'Ann', displayName: 'Ann' }, 'Ann', 'Ann', 'Ann'],
    [{ lastName: 'Archer' }, 'Archer', 'Archer', 'ann.archer'],
    [{ userName: 'annie' }, 'annie', 'annie', 'annie'],
    [{ userName: 'annie@acme' }, 'annie', 'annie', 'annie'],
    [{}, 'ann.archer', 'ann.archer', 'ann.archer'],
  ];
  for (const [person, firstName, lastName, displayName] of cases) {
    const expected = { firstName, lastName, ...(displayName === undefined ? {} : { displayName }) };
    assert.deepEqual(profileOf({ ...MAIL, ...person }), expected, JSON.stringify(person));
    const isWhole = person.firstName !== undefined && person.lastName !== undefined;
    assert.deepEqual(notesOf({ ...MAIL, ...person }), isWhole ? [] : [NOTES.namesMissing.id]);
  }
  assert.equal(profileOf({ phone: '+41791234567' }).lastName, '+41791234567');
  assert.equal(profileOf({ userId: 'x|1' }).lastName, 'x|1');
});

test('an address of unknown verification counts as unverified, which is noted', () => {
  const { entry, notes } = toEntry({ ...NAMES, email: 'a@example.com' }, 'acme');
  assert.deepEqual(entry.user.email, { email: 'a@example.com', isEmailVerified: false });
  assert.deepEqual(notes, [NOTES.emailUnsaid]);
  assert.deepEqual(toEntry({ ...NAMES }, 'acme').entry.user.email, { isEmailVerified: false });
  assert.deepEqual(notesOf({ ...NAMES }), []);
});

test('a phone number is converted to E.164 if possible, and otherwise kept and noted', () => {
  const phoneOf = (phone: string) => toEntry({ ...NAMES, ...MAIL, phone, phoneVerified: true }, 'acme');
  assert.deepEqual(phoneOf('+41 79 123-45-67').entry.user.phone, { phone: '+41791234567', isPhoneVerified: true });
  assert.deepEqual(phoneOf('044 668 18 00').entry.user.phone, { phone: '044 668 18 00', isPhoneVerified: true });
  assert.deepEqual(phoneOf('044 668 18 00').notes, [NOTES.phoneForm]);
});

test('a locale becomes a language tag; other text is dropped and noted', () => {
  const languageOf = (language: string) => profileOf({ ...NAMES, ...MAIL, language }).preferredLanguage;
  assert.equal(languageOf('de_CH.UTF-8'), 'de-CH');
  assert.equal(languageOf('en'), 'en');
  assert.equal(languageOf('English (UK)'), 'en');
  assert.equal(languageOf('französisch'), 'fr');
  for (const none of ['Klingon (TNG)', 'sr-Cyrl-RS-x-long', '-', '1']) {
    assert.equal(languageOf(none), undefined);
    assert.deepEqual(notesOf({ ...NAMES, ...MAIL, language: none }), [NOTES.language.id]);
  }
});

test('metadata is base64 of texts and bytes unchanged, and of other values as JSON; repeated links are removed', () => {
  const metadata = { a: 'ä', b: Buffer.from([0, 255]), c: { d: [1] }, e: '', f: null, g: undefined, h: 0, i: false };
  const link = { provider: 'google', externalUserId: '1' };
  const { user } = toEntry({ ...NAMES, ...MAIL, metadata, links: [link, { ...link }] }, 'acme').entry;
  assert.deepEqual(
    user.metadata?.map(({ key, value }) => [key, Buffer.from(value, 'base64').toString('latin1')]),
    [
      ['a', Buffer.from('ä').toString('latin1')],
      ['b', '\x00\xff'],
      ['c', '{"d":[1]}'],
      ['h', '0'],
      ['i', 'false'],
    ],
  );
  assert.deepEqual(user.idps, [{ configId: 'google', externalUserId: '1' }]);
});

test('a given organization takes precedence over the one in the export', () => {
  assert.equal(toEntry({ orgId: 'theirs' }, 'acme').entry.orgId, 'acme');
  assert.equal(toEntry({ orgId: 'theirs' }, undefined).entry.orgId, 'theirs');
});

test('states and secrets are converted unchanged', () => {
  assert.equal(toEntry({ state: 'inactive' }, 'a').entry.state, 'USER_STATE_INACTIVE');
  assert.equal(toEntry({ state: 'locked' }, 'a').entry.state, 'USER_STATE_LOCKED');
  assert.equal(toEntry({ state: 'active' }, 'a').entry.state, undefined);
  const { user } = toEntry({ hash: '$1$x', totp: 'ABC', passwordChangeRequired: true, password: ' p ' }, 'a').entry;
  assert.deepEqual(user.hashedPassword, { value: '$1$x' });
  assert.equal(user.password, ' p ');
  assert.equal(user.otpCode, 'ABC');
  assert.equal(user.passwordChangeRequired, true);
});

test('the phone number of a user who has only that becomes the user name, which is noted', () => {
  const only = toEntry({ ...NAMES, phone: '+41 79 123 45 67' }, 'acme');
  assert.equal(only.entry.user.userName, '+41791234567');
  assert.ok(only.notes.includes(NOTES.nameIsPhone));
  for (const more of [{ userName: 'ann' }, { email: 'ann@example.com' }]) {
    const { entry, notes } = toEntry({ ...NAMES, phone: '+41791234567', ...more }, 'acme');
    assert.equal(entry.user.userName, more.userName);
    assert.ok(!notes.includes(NOTES.nameIsPhone));
  }
});

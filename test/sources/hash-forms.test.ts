/** Spellings of known hashes; that each verifies is tested with the files in test/fixtures/wild. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem } from '../../src/passwords/registry.ts';
import { toEntry } from '../../src/sources/entry.ts';
import { isBareDigest, knownForm, plainOf } from '../../src/sources/hash-forms.ts';

const BCRYPT = `$2b$04$${'.'.repeat(53)}`;
const B16 = Buffer.alloc(16, 7).toString('base64');
const ARGON2 = `$argon2id$v=19$m=64,t=1,p=1$${B16.slice(0, 22)}$${B16.slice(0, 22)}`;

test('a hash that can be verified stays as it is', () => {
  for (const hash of [BCRYPT, ARGON2, 'ab'.repeat(16), `{SSHA}${Buffer.alloc(24).toString('base64')}`])
    assert.equal(knownForm(hash), hash);
});

test('a whole hash is found inside quotes, base64, digits and escapes, also one inside another', () => {
  const base64 = Buffer.from(BCRYPT).toString('base64');
  const hex = Buffer.from(BCRYPT).toString('hex');
  const spelled = [
    ...[`"${BCRYPT}"`, `'${BCRYPT}'`, `b'${BCRYPT}'`, `\`${BCRYPT}\``, ` ${BCRYPT}\n`],
    ...[base64, base64.replace(/=+$/, ''), `"${base64}"`, `\\x${hex}`, `0x${hex}`, `X'${hex}'`, hex.toUpperCase()],
    ...[BCRYPT.replaceAll('$', '\\$'), BCRYPT.replaceAll('$', '%24'), Buffer.from(base64).toString('base64')],
  ];
  for (const text of spelled) assert.equal(knownForm(text), BCRYPT, text);
});

test('a name before a hash goes only if the hash says the same', () => {
  assert.equal(knownForm(`{BLF-CRYPT}${BCRYPT}`), BCRYPT);
  assert.equal(knownForm(`bcrypt:${BCRYPT}`), BCRYPT);
  for (const other of [`{BCRYPT-MD5}${BCRYPT}`, `md5:${BCRYPT}`, `sha256:${BCRYPT}`]) {
    assert.equal(knownForm(other), other);
    assert.notEqual(hashProblem(other), undefined);
  }
});

test('what is recognized and cannot be verified becomes its name', () => {
  assert.equal(knownForm(`400$8$1$${'ab'.repeat(20)}$${'cd'.repeat(20)}`), '$ruby-scrypt$');
  assert.equal(knownForm('a:1:{s:4:"data";i:1;}'), '$php-serialized$');
  assert.equal(knownForm('correct horse battery staple'), 'correct horse battery staple');
});

test('a text that says that it is a password becomes the password, but no mask does', () => {
  assert.equal(plainOf('{PLAIN}secret'), 'secret');
  assert.equal(plainOf('{cleartext.b64}c2VjcmV0'), 'secret');
  assert.equal(plainOf('{CLEAR.HEX}736563726574'), 'secret');
  for (const text of ['{PLAIN}', '{PLAIN-MD5}secret', 'secret']) assert.equal(plainOf(text), undefined);
  const { entry } = toEntry({ hash: '{PLAIN}secret' }, 'acme');
  assert.deepEqual([entry.user.password, entry.user.hashedPassword], ['secret', undefined]);
  const masked = toEntry({ hash: '{PLAIN}********' }, 'acme');
  assert.deepEqual([masked.entry.user.password, masked.entry.user.hashedPassword], [undefined, undefined]);
  assert.ok(masked.notes.some(({ id }) => id === 'PASSWORD-MASKED'));
});

test('a hash that names a key gets a note', () => {
  const notes = (hash: string) => toEntry({ hash, userName: 'ann', firstName: 'a', lastName: 'b' }, 'acme').notes;
  assert.deepEqual(
    notes(ARGON2.replace('p=1', 'p=1,keyid=Zm9v')).map(({ id }) => id),
    ['HASH-KEY-NAMED'],
  );
  assert.deepEqual(notes(ARGON2), []);
});

test('forms are added, unless the hash would take too long with them', () => {
  const value = (hash: string) => toEntry({ hash, passwordForms: ['html'] }, 'acme').entry.user.hashedPassword?.value;
  assert.equal(value(`"${BCRYPT}"`), `$form$html$${BCRYPT}`);
  const slow = BCRYPT.replace('$04$', '$15$');
  assert.equal(value(slow), slow);
  assert.equal(value('nonsense'), 'nonsense');
});

test('digests without a program are told from others', () => {
  const salted = `$salted-sha1-suffix$YWJjZA$${Buffer.alloc(20).toString('base64')}`;
  for (const hash of [
    'ab'.repeat(16),
    `${'ab'.repeat(20)}:salt`,
    salted,
    `{SSHA}${Buffer.alloc(24).toString('base64')}`,
  ])
    assert.ok(isBareDigest(hash), hash);
  for (const hash of [BCRYPT, ARGON2, '$1$salt$hash', `{PBKDF2}1$x$${B16}`]) assert.ok(!isBareDigest(hash), hash);
});

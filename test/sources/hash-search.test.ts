/**
 * Password hashes anywhere in a record: which texts are hashes, which one is the user's, and which are noted as unused.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashAt, hashesIn, namedHash, passwordHashIn, placeOf, unusedHashes } from '../../src/sources/hashes.ts';
import type { Fields } from '../../src/sources/source.ts';
import { KNOWN_ANSWERS } from '../passwords/known-answers.ts';
import { cpuMs } from '../support/cpu.ts';

const BCRYPT = '$2b$04$V61IOVtQE1.AdnBVpY7svupQjBzHrWrvo0KVOHXHKnTwG1Bkr8a6K';
const OTHER = '$2b$04$noF6KtXAiYcqdgqJWXXl1.NtJQZZgETjEfeuVsdxl8NtkGsdiAI3a';
const MD5 = '5f4dcc3b5aa765d61d8327deb882cf99';
const SHA256 = 'XohImNooBHFR0OVvjcYpJ3NgPQ1qq73WKhHvch0VQtg=';
const never = () => false;
/** Schemes whose texts do not begin with a name. */
const NAMELESS = /^(?:(?:md5|sha\d+)(?:-plain|:salt)|aspnet-identity|des-crypt|bsdi-crypt)/;

test('every scheme that can be imported is recognized by its form, or by the name of its field', () => {
  for (const { scheme, encoded } of KNOWN_ANSWERS) {
    assert.notEqual(hashAt(encoded, ['passwordHash'], never), undefined, `${scheme} ${encoded}`);
    if (!NAMELESS.test(scheme)) assert.notEqual(namedHash(encoded), undefined, scheme);
  }
});

test('so are schemes that cannot be imported', () => {
  for (const text of [
    '$argon2$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA',
    '$y$j9T$F5Jx5fExrKuPp53xLKQ..1$X3DX6M94c7o.9agCG9G317fhZg9SqC.5i5rd.RhAtQ7',
    '$2e$04$V61IOVtQE1.AdnBVpY7svupQjBzHrWrvo0KVOHXHKnTwG1Bkr8a6K',
    '{bcrypt}$2b$04$V61IOVtQE1.AdnBVpY7svupQjBzHrWrvo0KVOHXHKnTwG1Bkr8a6K',
    '{X-SHA512}c2FsdHNhbHRzYWx0c2FsdA==',
    'SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy',
    '$md5,rounds=904$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo',
  ]) {
    assert.notEqual(namedHash(text), undefined, text);
  }
});

test('other texts are not hashes', () => {
  for (const text of [
    ...['', '$', '$5$ off your next order', '{"a":"$2b$"}', 'correct horse battery staple', 'https://example.com/$a$b'],
    ...['{3F2504E0-4F89-11D3-9A0C-0305E82C3301}', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', MD5, SHA256],
    ...['sha256', 'md5', '$HOME$/bin/some/thing/long', '{SASL}ann@EXAMPLE.COM', '{CRYPT}x', 'pbkdf2_sha256_django'],
    ...['$pbkdf2-sha256$i=600000,l=32$'],
  ]) {
    assert.equal(namedHash(text), undefined, text);
  }
});

test('bare digests count as hashes only in password fields', () => {
  const by = (text: string, ...path: string[]) => hashAt(text, path, never);
  assert.equal(by(MD5, 'password'), 'digest');
  assert.equal(by(MD5, 'auth', 'user_pwd'), 'digest');
  assert.equal(by(SHA256, 'passwordHash'), 'digest');
  assert.equal(
    hashAt(SHA256, ['password', 'value'], () => true),
    'digest',
  );
  assert.equal(by(SHA256, 'password'), undefined);
  for (const name of ['avatar_hash', 'SecurityStamp', 'reset_password_token', 'passwordSalt', 'emailHash', 'etag']) {
    assert.equal(by(MD5, name), undefined, name);
  }
  assert.equal(by('pbkdf2_sha256_django', 'password_hasher'), undefined);
});

test('hashes are found at any depth, in lists and in JSON text; places contain names and no data', () => {
  const record = {
    '@context': { password: BCRYPT },
    password: { type: 'password-bcrypt', value: BCRYPT },
    past: [{ hash: OTHER }, { hash: BCRYPT }],
    by: { 'ann@example.com': ` ${OTHER} ` },
    cell: JSON.stringify({ local: { password: OTHER }, list: [MD5] }),
    credentials: [{ algorithm: 'SHA-256', value: SHA256, salt: SHA256 }],
    note: 'nothing',
  };
  const found = hashesIn(record).map((hash) => `${hash.scheme} ${placeOf(hash)}`);
  assert.deepEqual(found, [
    'bcrypt password.value',
    'bcrypt past[].hash',
    'bcrypt past[].hash',
    'bcrypt by.*',
    'bcrypt cell.local.password',
    'digest credentials[].value',
  ]);
});

const CLEAR: [what: string, record: Fields, place: string | undefined][] = [
  ['an object with its type', { password: { type: 'password-bcrypt', value: BCRYPT } }, 'password.value'],
  ['by service', { services: { password: { bcrypt: BCRYPT } } }, 'services.password.bcrypt'],
  ['local', { local: { email: 'a@example.com', password: BCRYPT } }, 'local.password'],
  ['a list of credentials', { credentials: [{ type: 'password', value: BCRYPT }] }, 'credentials[].value'],
  ['a column of another name', { crypted_password: BCRYPT }, 'crypted_password'],
  ['a hash of a directory', { auth: { pwd: '{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr' } }, 'auth.pwd'],
  ['twice the same', { password: { hash: BCRYPT }, auth: { password: BCRYPT } }, 'password.hash'],
  ['two', { password: { hash: BCRYPT }, auth: { password: OTHER } }, undefined],
  ['a former one', { password_history: [BCRYPT] }, undefined],
  ['an old one next to it', { password: { value: BCRYPT }, old_password: OTHER }, 'password.value'],
  ['one of an answer', { password: { question: 'x', answer: BCRYPT } }, undefined],
  ['nowhere near a password', { note: BCRYPT }, undefined],
  ['an incomplete hash', { password: { value: '$2b$04$short' } }, undefined],
  [
    'an unsupported one',
    { password: { value: '$2e$04$V61IOVtQE1.AdnBVpY7svupQjBzHrWrvo0KVOHXHKnTwG1Bkr8a6K' } },
    undefined,
  ],
];

for (const [what, record, place] of CLEAR) {
  test(`the hash of a record, ${what}: ${place ?? 'not clear'}`, () => {
    const found = passwordHashIn(record);
    assert.equal(found && placeOf(found), place);
  });
}

/** The places of hashes that are noted as unused. */
function unusedOf(record: Fields, person: { hash?: string; password?: string }): string[] {
  const notes = unusedHashes(record, person);
  assert.doesNotMatch(JSON.stringify(notes), /V61IOVtQ|noF6KtXA|5f4dcc3b|XohImNoo/);
  return notes.map(({ message }) => /\((.*)\) at (.*) is not used/.exec(message)?.slice(1).join(' ') ?? message);
}

test('hashes that are not imported are noted; the one that the source used is not', () => {
  const record = { id: 1, password: BCRYPT, pin: OTHER, legacy: { password_md5: MD5 } };
  assert.deepEqual(unusedOf(record, { hash: BCRYPT }), ['bcrypt pin', 'digest legacy.password_md5']);
  assert.deepEqual(unusedOf(record, {}), ['bcrypt password', 'bcrypt pin', 'digest legacy.password_md5']);
  assert.deepEqual(unusedOf({ password: BCRYPT, copy: BCRYPT }, { hash: BCRYPT }), []);
  assert.deepEqual(unusedOf({ password: BCRYPT }, { password: BCRYPT }), []);
});

test('a hash that the source wrote in another form counts as used', () => {
  assert.deepEqual(
    unusedOf({ userpassword: ['{CRYPT}!$6$salt$0123456789abcdef'] }, { hash: '{CRYPT}$6$salt$0123456789abcdef' }),
    [],
  );
  assert.deepEqual(unusedOf({ passwordHash: BCRYPT }, { hash: '$devise-pepper$' }), []);
  assert.deepEqual(unusedOf({ pin: OTHER, passwordHash: BCRYPT }, { hash: '$devise-pepper$' }), ['bcrypt pin']);
});

/**
 * Texts that cost a pattern with the word between two runs of letters a time that is quadratic in their length. 200,000
 * of them took 20 s and more with such patterns, and take well below one with linear ones.
 */
const HOSTILE = [
  `$${'SHA'.repeat(340)}`,
  `$${'SHA'.repeat(339)} $`,
  `{${'sha'.repeat(340)}`,
  `{${'crypt.'.repeat(170)}} `,
];
const CELLS = 50_000;
const LONGEST_MS = 10_000;

test('texts that are nearly hashes take no longer than others', () => {
  const ms = cpuMs(() => {
    for (const text of HOSTILE) {
      for (let i = 0; i < CELLS; i++) assert.equal(namedHash(text), undefined);
    }
  });
  assert.ok(ms < LONGEST_MS, `${ms} ms of processor time`);
});

test('the name of a scheme may have its word anywhere, but not after a slash', () => {
  const digest = 'c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA';
  for (const name of ['$SHA$', '$X-PBKDF2-9$', '$MYBCRYPT$', '{x-sha}', '{my.CRYPT/v2}']) {
    assert.notEqual(namedHash(name + digest), undefined, name);
  }
  for (const name of ['$XYZ$', '$SHa$', '$X_SHA$', '{x/sha}', '{plain}', '{}', '$$']) {
    assert.equal(namedHash(name + digest), undefined, name);
  }
});

test('the fields around a digest are searched for a scheme once, however many digests there are', () => {
  const password = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`v${i}`, `Aa1${'x'.repeat(20)}`]));
  assert.deepEqual(hashesIn({ password }), []);
  assert.equal(hashesIn({ password: { ...password, type: 'sha1' } }).length, 100_000);
});

test('a key of a megabyte is no name, and what lies deeper than in any export is not searched', () => {
  const long = `password${'x'.repeat(2 ** 20)}`;
  const inside = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`v${i}`, MD5]));
  assert.deepEqual(hashesIn({ [long]: inside }), []);
  const nested = (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}"${BCRYPT}"${'}'.repeat(depth)}`);
  assert.equal(hashesIn(nested(32)).length, 1);
  assert.equal(hashesIn(nested(33)).length, 0);
});

test('searching a long cell of JSON is cheap', () => {
  const cell = `{${'"a":"}:{",'.repeat(100_000)}"x":1`;
  assert.deepEqual(hashesIn({ cell, password: cell }), []);
});

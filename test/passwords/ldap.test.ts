/** LDAP's schemes: what is rejected, with the exact messages; names in any case; how the inner scheme applies. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, identifierOf, schemeOf, usesWholePassword, verifyHash } from '../../src/passwords/registry.ts';

const B53 = 'abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234';
const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');

const REFUSED: Array<[encoded: string, problem: string]> = [
  ['{SHA}', '{SHA}: the hash is not 20 bytes'],
  [`{SHA}${base64(21)}`, '{SHA}: the hash is not 20 bytes'],
  ['{SHA}47b56994cbc2b6d10aa1be30f70165adb305a41', '{SHA}: the hash is not 20 bytes'],
  [`{md5}${base64(16)}=`, '{MD5}: the hash is not base64'],
  [`{SHA512}${base64(63)}`, '{SHA512}: the hash is not 64 bytes'],
  [`{SSHA}${base64(19)}`, '{SSHA}: the hash is shorter than 20 bytes'],
  [`{SSHA}${base64(20)}`, '{SSHA}: the salt is missing'],
  [`{SSHA}${base64(28).replace('B', '-')}`, '{SSHA}: the hash is not base64'],
  [`{SSHA} ${base64(28)}`, '{SSHA}: the hash is not base64'],
  [`{ssha512}${base64(64)}`, '{SSHA512}: the salt is missing'],
  ['{SSHA}x1y2z3', '{SSHA}: the hash is shorter than 20 bytes'],
  // AIX uses its own forms under these names.
  ['{smd5}s8/xSJ/v$uGam4GB8hOjTLQqvBfxJ2/', '{SMD5}: the hash is not base64'],
  [`{SSHA256}${base64(200)}`, '{SSHA256}: the hash is longer than 200 characters'],

  ['{CRYPT}$y$j9T$salt$hash', '{CRYPT}: yescrypt: the hash is cut off or not in the alphabet of crypt(3)'],
  [
    '{CRYPT}X5/DBrWPOQQaIx',
    '{CRYPT}: the hash inside is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)',
  ],
  [`{CRYPT}$2e$10$${B53}`, '{CRYPT}: $2e$ is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)'],
  ['{CRYPT}*', '{CRYPT}: the hash inside is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)'],
  ['{CRYPT}', '{CRYPT}: the hash inside is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)'],
  [`{CRYPT}$2b$17$${B53}`, '{CRYPT}: bcrypt: cost 17 is out of bounds (4 to 16)'],
  ['{CRYPT}$6$salt$hash', '{CRYPT}: sha2-crypt $6$: the hash is cut off or not in the alphabet of crypt(3)'],
  [
    `{CRYPT}$P$9saltSALT${B53.slice(0, 22)}`,
    '{CRYPT}: the hash inside is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)',
  ],

  [`{BCRYPT}$2b$10$${B53}x`, '{BCRYPT}: bcrypt: 60 characters are expected, not 61'],
  ['{BCRYPT}$1$salt$vk1vw.z2SbLyTpnSb9HNs1', '{BCRYPT}: the hash does not begin with $2a$, $2b$ or $2y$'],
  [
    '{ARGON2}$argon2$v=19$m=64,t=1,p=1$c2FsdHNhbHQ$x',
    '{ARGON2}: the hash does not begin with $argon2id$, $argon2i$ or $argon2d$',
  ],
  ['{ARGON2}$argon2id$v=16$m=64,t=1,p=1$c2FsdHNhbHQ$x', '{ARGON2}: argon2id: only version v=19 is supported'],
  [`{PBKDF2-SHA512}0$${base64(16)}$${base64(64)}`, '{PBKDF2-SHA512}: rounds 0 is out of bounds (1 to 10000000)'],
  [`{PBKDF2}10$${base64(16)}`, '{PBKDF2}: the fields are not rounds, salt and hash'],
  [`{PBKDF2}10$${base64(16)}$${base64(11)}`, '{PBKDF2}: the hash is shorter than 12 bytes'],
  [`{PBKDF2_SHA256}${base64(40)}`, 'unknown scheme "{PBKDF2_SHA256}"'],
  [`{PBKDF2-SHA384}10$${base64(16)}$${base64(48)}`, 'unknown scheme "{PBKDF2-SHA384}"'],
  ['{SASL}ann@example.com', 'unknown scheme "{SASL}"'],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${JSON.stringify(encoded.slice(0, 40))}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), problem);
    assert.equal(verifyHash(encoded, 'password'), false);
  });
}

test('the name may be in any case, and messages write it in capitals', () => {
  for (const name of ['{SSHA}', '{ssha}', '{SsHa}']) {
    assert.equal(schemeOf(`${name}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr`), '{SSHA}');
    assert.equal(verifyHash(`${name}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr`, 'testing123'), true);
  }
  // U+017F, whose capital letter is S.
  assert.equal(schemeOf('{ſSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr'), undefined);
});

test('{CRYPT} takes the hashes of every crypt(3), such as the example of RFC 2307 section 5.3', () => {
  for (const inside of [
    'X5/DBrWPOQQaI',
    '_J9..K0AyUubDrfOgO4s',
    `$y$j9T$salt$${'.'.repeat(43)}`,
    `$sha1$9$x$${'.'.repeat(28)}`,
  ]) {
    assert.equal(hashProblem(`{crypt}${inside}`), undefined);
  }
});

test('messages repeat a name with its braces, and only if it can be a name', () => {
  assert.equal(identifierOf('{FOO}x'), '{FOO}');
  assert.equal(identifierOf('{SSHA512}x'), '{SSHA512}');
  assert.equal(identifierOf('$9$x'), '9');
  for (const none of ['{FOO}', '{}x', `{${'x'.repeat(19)}}x`, '{a b}x', '{x$y}x', 'x{FOO}x']) {
    assert.equal(identifierOf(none), undefined, none);
  }
});

test('inner bcrypt ignores as much of a password as bcrypt alone', () => {
  const long = 'x'.repeat(73);
  for (const name of ['{CRYPT}', '{BCRYPT}']) assert.equal(usesWholePassword(`${name}$2b$04$${B53}`, long), false);
  for (const other of ['{CRYPT}$1$saltsalt$vk1vw.z2SbLyTpnSb9HNs1', `{SHA}${base64(20)}`, '{CRYPT}']) {
    assert.equal(usesWholePassword(other, long), true);
  }
});

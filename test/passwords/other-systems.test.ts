/** The other schemes of crypt(3), and schemes of Spring, shops, forums and others: what is rejected, with which message. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, schemeOf, usesWholePassword, verifyHash } from '../../src/passwords/registry.ts';

const B64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
const HEX = (bytes: number) => Buffer.alloc(bytes, 7).toString('hex');
const dots = (length: number) => '.'.repeat(length);
const CRYPT3 = 'the hash is cut off or not in the alphabet of crypt(3)';
const YESCRYPT = 'yescrypt: the parameters are not those of crypt(3): j, one character of N, one of r';
const UNKNOWN = 'unknown scheme: it does not begin with a known identifier such as $2b$';

const REFUSED: Array<[encoded: string, problem: string]> = [
  [`$apr1$ninechars$${dots(22)}`, 'apr1-crypt: the salt is longer than 8 bytes'],
  [`$apr1$salt$${dots(21)}`, `apr1-crypt: ${CRYPT3}`],
  ['$apr1$salt', 'apr1-crypt: the fields are not salt and hash'],
  [`$sha1$0$salt$${dots(28)}`, 'sha1-crypt: rounds 0 is out of bounds (1 to 1000000)'],
  [`$sha1$x$salt$${dots(28)}`, 'sha1-crypt: rounds must be a whole number'],
  [`$sha1$9$${dots(65)}$${dots(28)}`, 'sha1-crypt: the salt is longer than 64 bytes'],
  [`$sha1$9$salt$${dots(27)}`, `sha1-crypt: ${CRYPT3}`],
  ['$sha1$9$salt', 'sha1-crypt: the fields are not rounds, salt and hash'],
  [`$y$k9T$salt$${dots(43)}`, YESCRYPT],
  [`$y$j9T.$salt$${dots(43)}`, YESCRYPT],
  [`$y$j$salt$${dots(43)}`, YESCRYPT],
  [`$y$j45$salt$${dots(43)}`, 'yescrypt: log2 of N 7 is out of bounds (8 to 18)'],
  [`$y$jGD$salt$${dots(43)}`, 'yescrypt: log2 of N 19 is out of bounds (8 to 18)'],
  [`$y$j9T$s@lt$${dots(43)}`, 'yescrypt: the salt is damaged or not in the alphabet of crypt(3)'],
  [`$y$j9T$salts$${dots(43)}`, 'yescrypt: the salt is damaged or not in the alphabet of crypt(3)'],
  [`$y$j9T$salt$${dots(42)}`, `yescrypt: ${CRYPT3}`],
  [`$y$j9T$salt`, 'yescrypt: the fields are not parameters, salt and hash'],
  ['$gy$j9T$salt$hash', 'unknown scheme "$gy$"'],
  [`_J9..rasm${dots(10)}z`, 'bsdi-crypt: rounds, salt and hash are not in the alphabet of crypt(3)'],
  [`_....rasm${dots(11)}`, 'bsdi-crypt: rounds 0 is out of bounds (1 to 16777215)'],
  // The last character of DES crypt stands for four bits.
  [`ab${dots(10)}z`, UNKNOWN],
  [`ab${dots(10)}`, UNKNOWN],
  [`$bcrypt-sha256$v=3,t=2b,r=4$${dots(22)}$${dots(31)}`, 'bcrypt-sha256: the parameters are not v=2,t=2b,r=…'],
  [`$bcrypt-sha256$v=2,t=2x,r=4$${dots(22)}$${dots(31)}`, 'bcrypt-sha256: the parameters are not v=2,t=2b,r=…'],
  [`$bcrypt-sha256$v=2,t=2b,r=4$${dots(53)}`, 'bcrypt-sha256: the fields are not parameters, salt and hash'],
  [`$bcrypt-sha256$v=2,t=2b,r=4$${dots(21)}$${dots(32)}`, 'bcrypt-sha256: the salt does not have 22 characters'],
  [`$bcrypt-sha256$v=2,t=2b,r=4$${dots(22)}$${dots(30)}`, 'bcrypt-sha256: 60 characters are expected, not 59'],

  [`$pbkdf2-sha256$i=x,l=32$c2FsdA$${B64(32)}`, 'pbkdf2-sha256: rounds must be a whole number'],
  [`$pbkdf2-sha256$i=9,l=31$c2FsdA$${B64(32)}`, 'pbkdf2-sha256: the hash is not of the length l'],
  [`$pbkdf2-sha256$l=32,i=9$c2FsdA$${B64(32)}`, 'pbkdf2-sha256: rounds must be a whole number'],
  [`{PBKDF2-HMAC-SHA256}10$${B64(48)}`, '{PBKDF2-HMAC-SHA256}: the fields are not rounds and hash'],
  [`{PBKDF2-HMAC-SHA256}x:${B64(48)}`, '{PBKDF2-HMAC-SHA256}: rounds must be a whole number'],
  [`{PBKDF2-HMAC-SHA256}10:${B64(32)}`, '{PBKDF2-HMAC-SHA256}: hash and salt are not more than 32 bytes'],
  ['{PBKDF2-HMAC-SHA512}10:?', '{PBKDF2-HMAC-SHA512}: the hash is not base64'],
  [`{PKCS5S2}${B64(47)}`, '{PKCS5S2}: salt and hash are not 48 bytes in base64'],

  [`{pbkdf2}${HEX(39)}`, 'spring pbkdf2: salt and hash are not 40 bytes'],
  ['{pbkdf2@SpringSecurity_v5_8}x', 'spring pbkdf2@SpringSecurity_v5_8: salt and hash are not hexadecimal'],
  [`{sha256}${HEX(41)}`, 'spring sha256: salt and hash are not 40 bytes'],
  [`{scrypt}e0801$c2FsdA==$${B64(32)}`, 'spring scrypt: the fields are not parameters, salt and hash'],
  [`{scrypt}$e08$c2FsdA==$${B64(32)}`, 'spring scrypt: the parameters are not 5 to 8 hexadecimal digits'],
  [`{scrypt}$e0801$?$${B64(32)}`, 'spring scrypt: the salt is not base64'],
  ['{scrypt}$e0801$c2FsdA==$?', 'spring scrypt: the hash is not base64'],
  [`{scrypt}$e0801$c2FsdA==$${B64(11)}`, 'spring scrypt: the hash is shorter than 12 bytes'],
  ['{argon2@SpringSecurity_v5_8}$2b$', 'spring argon2: the hash does not begin with $argon2id$'],
  ['{ldap}secret', 'spring ldap: what follows {ldap} does not begin with a scheme such as {SSHA}'],
  ['{ldap}{SHA}x', 'spring ldap: the hash is not base64'],
  [`{MD5}{salt}${HEX(15)}`, 'spring MD5: the hash is not 16 bytes in hexadecimal or base64'],
  [`{SHA-256}${HEX(31)}`, 'spring SHA-256: the hash is not 32 bytes in hexadecimal or base64'],
  ['{noop}password', 'unknown scheme "{noop}"'],

  [`sha512_symfony$0$salt$${B64(64)}`, 'symfony sha512: rounds 0 is out of bounds (1 to 500000)'],
  [`sha512_symfony$9$sa{lt$${B64(64)}`, 'symfony sha512: the salt contains a brace'],
  [`sha512_symfony$9$salt$${B64(63)}`, 'symfony sha512: the hash is not 64 bytes'],
  ['sha512_symfony$9$salt$?', 'symfony sha512: the hash is not base64'],
  ['sha512_symfony$9$salt', 'symfony sha512: the fields are not rounds, salt and hash'],
  [`s2:salt:${HEX(63)}`, 'lucia scrypt: the fields are not salt and 128 hexadecimal digits of hash'],
  ['s2:x', 'lucia scrypt: the fields are not salt and 128 hexadecimal digits of hash'],
  [`${HEX(16)}:`, 'md5:salt: the salt is missing'],
  [`${HEX(16)}:${'s'.repeat(71)}`, 'md5:salt: the salt is longer than 70 characters'],
  [`${HEX(32)}:saltsalt:3_32_0_65536`, 'magento2: passes t 0 is out of bounds (1 to 100000)'],
  [`${HEX(32)}:saltsalt:3_65_2_65536`, 'magento2: the hash is not 16 to 64 bytes'],
  [`${HEX(32)}:saltsalt:5`, 'magento2: the version is not one of 0 to 3'],
  [HEX(21), UNKNOWN],
  // pwdump's LM and NT hashes, and the LM hash of no password.
  ['AAD3B435B51404EEAAD3B435B51404EE', 'md5-plain: this is an LM hash of Windows, which cannot be verified'],
  [
    'e52cac67419a9a22aad3b435b51404ee:8846f7eaee8fb117ad06bdd830b7586c',
    'md5:salt: this is an LM hash of Windows, which cannot be verified',
  ],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${JSON.stringify(encoded.slice(0, 40))}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), problem);
    assert.equal(verifyHash(encoded, 'password'), false);
  });
}

test('a text is of one scheme, though several have the same separator or name', () => {
  const of: Array<[encoded: string, scheme: string]> = [
    [`${HEX(16)}:${HEX(64)}`, 'better-auth scrypt'],
    [`${'z'.repeat(16)}:${HEX(64)}`, 'lucia 1 scrypt'],
    [`${HEX(16)}:${HEX(16)}`, 'md5:salt'],
    [`${HEX(16)}:a:1`, 'md5:salt'],
    [`${HEX(32)}:saltsalt`, 'sha256:salt'],
    [`${HEX(32)}:saltsalt:1`, 'magento2'],
    [`{pbkdf2}${HEX(40)}`, 'spring pbkdf2'],
    [`{PBKDF2}9$c2FsdA$${B64(32)}`, '{PBKDF2}'],
    [`{PBKDF2}9:${B64(32)}`, 'opendj {PBKDF2}'],
    [`{sha256}${HEX(40)}`, 'spring sha256'],
    [`{SHA256}${HEX(32)}`, '{SHA256}'],
    [`{MD5}{}${HEX(16)}`, 'spring MD5'],
    [`{MD5}${HEX(16)}`, '{MD5}'],
  ];
  for (const [encoded, scheme] of of) assert.equal(schemeOf(encoded), scheme, encoded);
});

test('DES ignores what follows eight bytes, and the highest bit of each byte', () => {
  assert.equal(verifyHash('9sc5g9Kd9yOWI', '12345678 and more'), true);
  assert.equal(usesWholePassword('9sc5g9Kd9yOWI', '12345678'), true);
  assert.equal(usesWholePassword('9sc5g9Kd9yOWI', '123456789'), false);
  assert.equal(usesWholePassword('9sc5g9Kd9yOWI', 'grün'), false);
  const bsdi = `_J9..rasm${dots(11)}`;
  assert.equal(usesWholePassword(bsdi, 'a longer password'), true);
  assert.equal(usesWholePassword(bsdi, 'grün'), false);
});

test('what looks alike in Unicode is one password for better-auth', () => {
  const hash =
    '57dc0c38598b6c9fe3659df984a37a70:3ec0055727dd5992e001c18e36f350c821e2de42ceebbac79930d36c42c6a6bcd2251fa2db16ded36acb63ee2ae58705eab2e8d31f2f4d5468c3458725a1f68d';
  assert.equal(verifyHash(hash, 'fish Å1'), true);
});

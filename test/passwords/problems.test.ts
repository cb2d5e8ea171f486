/** What acceptance rejects, with the exact messages; hashes at the edges of every bound are accepted. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, schemeOf, verifyHash } from '../../src/passwords/registry.ts';

const B53 = 'abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234';
const B64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64').replace(/=+$/, '');
const SALT = B64(16);
const HASH = B64(32);
const C22 = 'vk1vw.z2SbLyTpnSb9HNs1';
const C43 = 'Ojd7Np6hbwV5cF8YNxBHYccTT7yGYZOYTjbQ02Ygsp3';
const C86 = `${C43}${C43.slice(0, 42)}.`;

const argon2 = (cost: string, id = 'argon2id', version = 'v=19') => `$${id}$${version}$${cost}$${SALT}$${HASH}`;
const scrypt = (cost: string) => `$scrypt$${cost}$${SALT}$${HASH}`;
const pbkdf2 = (rounds: string) => `$pbkdf2-sha256$${rounds}$${SALT}$${HASH}`;

const REFUSED: Array<[encoded: string, problem: string]> = [
  ['', 'the hash is empty'],
  [' ', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['plain text password', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['{secret}', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['{two words}x1y2z3', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['{GOST_YESCRYPT}$gy$x1y2z3', 'unknown scheme "{GOST_YESCRYPT}"'],
  ['{FOO}x1y2z3', 'unknown scheme "{FOO}"'],
  ['$SaltOrWhat1234$x', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['$9$salt$hash', 'unknown scheme "$9$"'],
  ['$constructor$salt$hash', 'unknown scheme "$constructor$"'],
  [`$pbkdf2-sha3$1$${SALT}$${HASH}`, 'unknown scheme "$pbkdf2-sha3$"'],
  ['$md5salted$foo', 'md5salted is not supported (md5salted-prefix and md5salted-suffix are)'],
  [argon2('m=64,t=1,p=1', 'argon2'), 'argon2 is not supported (argon2i, argon2id and argon2d are)'],
  [`$2x$10$${B53.slice(1)}`, 'bcrypt $2x$: 60 characters are expected, not 59'],
  [`!$2b$10$${B53}`, 'unknown scheme: it begins with ! or *, which locks a password'],
  [`$2e$10$${B53}`, 'bcrypt: the variant $2e$ is not supported ($2a$, $2b$ and $2y$ are)'],
  [`$2$10$${B53}`, 'bcrypt: the variant $2$ is not supported ($2a$, $2b$ and $2y$ are)'],
  ['5f4dcc3b5aa765d61d8327deb882cf9', 'unknown scheme: it does not begin with a known identifier such as $2b$'],
  ['5f4dcc3b5aa765d61d8327deb882cf9g', 'unknown scheme: it does not begin with a known identifier such as $2b$'],

  ['$formula$sha1(salt+password)', 'formula: the fields are not formula, salt and hash'],
  [`$formula$sha1(salt+foo(password))$${SALT}$${B64(20)}`, 'formula: the formula is not valid'],
  [`$formula$sha1(salt+password)$$${B64(20)}`, 'formula: the salt is missing'],
  [`$formula$sha1(salt+password)$!$${B64(20)}`, 'formula: the salt is not base64'],
  [`$formula$sha1(unhex(salt)+password)$c2FsdA$${B64(20)}`, 'formula: the salt is not hexadecimal'],
  [`$formula$sha1(unbase64(salt)+password)$e30$${B64(20)}`, 'formula: the salt is not base64'],
  [`$formula$sha1(salt+password)$${SALT}$!`, 'formula: the hash is not base64'],
  [`$formula$sha1(salt+password)$${SALT}$${HASH}`, 'formula: the hash is not 20 bytes'],
  [`$formula$pbkdf2-sha256(rounds,salt,password)$${SALT}$${HASH}`, 'formula: the number of rounds is missing'],
  [`$formula$pbkdf2-sha256(9,salt,password)$${SALT}$${B64(11)}`, 'formula: the hash is shorter than 12 bytes'],
  [`$formula$pbkdf2-sha256(9,salt,password)$${SALT}$${B64(33)}`, 'formula: the hash is longer than 32 bytes'],
  [
    `$formula$bcrypt(md5(password))$$${argon2('m=64,t=1,p=1')}`,
    'formula: what follows the salt is not a hash of bcrypt',
  ],
  [`$formula$bcrypt(md5(password))$$$2b$17$${B53}`, 'formula: cost 17 is out of bounds (4 to 16)'],
  [`$formula$${'a'.repeat(400)}`, 'formula: the hash is longer than 400 characters'],
  [`$2b$03$${B53}`, 'bcrypt: cost 3 is out of bounds (4 to 16)'],
  [`$2b$17$${B53}`, 'bcrypt: cost 17 is out of bounds (4 to 16)'],
  [`$2b$1$${B53}`, 'bcrypt: the cost is not two digits'],
  [`$2b$1x$${B53}`, 'bcrypt: the cost is not two digits'],
  ['$2b$', 'bcrypt: the cost is not two digits'],
  [`$2b$10$${B53.slice(1)}`, 'bcrypt: 60 characters are expected, not 59'],
  [`$2b$10$${B53}\n`, 'bcrypt: 60 characters are expected, not 61'],
  [`$2b$10$${B53.slice(1)}+`, 'bcrypt: salt and hash may contain only ./A-Za-z0-9'],
  [`$2b$10$é${B53.slice(1)}`, 'bcrypt: salt and hash may contain only ./A-Za-z0-9'],

  [argon2('m=524289,t=1,p=1'), 'argon2id: memory m (KiB) 524289 is out of bounds (8 to 524288)'],
  [argon2('m=127,t=1,p=16'), 'argon2id: memory m (KiB) 127 is out of bounds (128 to 524288)'],
  [argon2('m=64,t=100001,p=1'), 'argon2id: passes t 100001 is out of bounds (1 to 100000)'],
  [argon2('m=64,t=0,p=1', 'argon2i'), 'argon2i: passes t 0 is out of bounds (1 to 100000)'],
  [argon2('m=9999,t=1,p=256'), 'argon2id: parallelism p 256 is out of bounds (1 to 255)'],
  [argon2('m=-64,t=1,p=1'), 'argon2id: memory m (KiB) must be a whole number'],
  [argon2('m=64,t=1'), 'argon2id: the parameters are not m=…,t=…,p=…'],
  [argon2('m=64,t=1,p=1,secret=x'), 'argon2id: the parameters are not m=…,t=…,p=…'],
  [argon2('m=64,t=1,p=1,p=1'), 'argon2id: the parameters are not m=…,t=…,p=…'],
  [argon2('m=64,t=1,p=1,data=*'), 'argon2id: data is not base64'],
  [argon2('m=64,t=1,p=1', 'argon2id', 'v=16'), 'argon2id: only version v=19 is supported'],
  [`$argon2i$m=64,t=1,p=1$${SALT}$${HASH}`, 'argon2i: v=19 is missing'],
  [`$argon2id$v=19$m=64,t=1,p=1$${SALT}`, 'argon2id: the fields are not version, parameters, salt and hash'],
  [`$argon2id$v=19$m=64,t=1,p=1$${B64(7)}$${HASH}`, 'argon2id: the salt is shorter than 8 bytes'],
  [`$argon2id$v=19$m=64,t=1,p=1$${SALT}$${B64(11)}`, 'argon2id: the hash is shorter than 12 bytes'],
  [`$argon2id$v=19$m=64,t=1,p=1$${SALT}$${HASH}*`, 'argon2id: the hash is not base64'],
  [`$argon2id$v=19$m=64,t=1,p=1$a${SALT}.$${HASH}`, 'argon2id: the salt is not base64'],

  [scrypt('ln=16,r=8,p=17'), 'scrypt: p 17 is out of bounds (1 to 16)'],
  [scrypt('ln=19,r=8,p=1'), 'scrypt: memory 128·N·r of 512 MiB is out of bounds (256 MiB)'],
  [scrypt('ln=63,r=8,p=1'), 'scrypt: ln 63 is out of bounds (1 to 20)'],
  [scrypt('ln=16,r=1,p=1'), 'scrypt: ln 16 is out of bounds for r 1 (1 to 15)'],
  [scrypt('ln=1,r=1048576,p=16'), 'scrypt: memory 128·r·p is out of bounds (256 MiB)'],
  [scrypt('N=16384,r=8,p=1'), 'scrypt: the parameters are not ln=…,r=…,p=…'],
  [scrypt('ln=14,r=,p=1'), 'scrypt: r must be a whole number'],
  ['$scrypt$ln=14,r=8,p=1$onlysalt', 'scrypt: the fields are not parameters, salt and hash'],
  [`$scrypt$ln=14,r=8,p=1$${SALT}$`, 'scrypt: the hash is shorter than 12 bytes'],

  [pbkdf2('0'), 'pbkdf2-sha256: rounds 0 is out of bounds (1 to 10000000)'],
  [pbkdf2('10000001'), 'pbkdf2-sha256: rounds 10000001 is out of bounds (1 to 10000000)'],
  [pbkdf2('9'.repeat(40)), 'pbkdf2-sha256: rounds over 9999999999 is out of bounds (1 to 10000000)'],
  [pbkdf2('007'), 'pbkdf2-sha256: rounds must be a whole number'],
  [pbkdf2('1e3'), 'pbkdf2-sha256: rounds must be a whole number'],
  [`$pbkdf2$12$${SALT}`, 'pbkdf2: the fields are not rounds, salt and hash'],
  [`$pbkdf2$12$${SALT}$${HASH}=`.replace('$12', '$x'), 'pbkdf2: rounds must be a whole number'],
  [`$pbkdf2-sha512$12$${SALT}$${HASH}==`, 'pbkdf2-sha512: the hash is not base64'],
  [`$pbkdf2-sha512$12$-_$${HASH}`, 'pbkdf2-sha512: the salt is not base64'],

  [`$5$rounds=999$salt$${C43}`, 'sha2-crypt $5$: rounds 999 is out of bounds (1000 to 1000000)'],
  [`$6$rounds=1000001$salt$${C86}`, 'sha2-crypt $6$: rounds 1000001 is out of bounds (1000 to 1000000)'],
  ['$6$rounds=abc$salt$hash', 'sha2-crypt $6$: rounds must be a whole number'],
  ['$6$rounds=10000$some$salt$hash', 'sha2-crypt $6$: the fields are not salt and hash'],
  [`$6$salt$${C43}`, 'sha2-crypt $6$: the hash is cut off or not in the alphabet of crypt(3)'],
  [`$5$salt$${C43.slice(0, 42)}z`, 'sha2-crypt $5$: the hash is cut off or not in the alphabet of crypt(3)'],
  [`$5$seventeen-letters$${C43}`, 'sha2-crypt $5$: the salt is longer than 16 bytes'],

  [`$1$ninechars$${C22}`, 'md5-crypt: the salt is longer than 8 bytes'],
  [`$1$salt$${C22}x`, 'md5-crypt: the hash is cut off or not in the alphabet of crypt(3)'],
  [`$1$${C22}`, 'md5-crypt: the fields are not salt and hash'],

  [`$P$4saltSALT${C22}`, 'phpass: log2 of the rounds 6 is out of bounds (7 to 19)'],
  [`$H$IsaltSALT${C22}`, 'phpass: log2 of the rounds 20 is out of bounds (7 to 19)'],
  ['$P$', 'phpass: the character for the rounds is missing or not in the alphabet of crypt(3)'],
  ['$P$712345678', 'phpass: 34 characters are expected, not 12'],
  [`$P$9salt@ALT${C22}`, 'phpass: the salt may contain only ./0-9A-Za-z'],
  [`$P$9saltSALT${C22.slice(0, 21)}z`, 'phpass: the hash is damaged or not in the alphabet of crypt(3)'],
  [`$S$@saltSALT${C43}`, 'drupal7: the character for the rounds is missing or not in the alphabet of crypt(3)'],
  [`$S$zsaltSALT${C43}`, 'drupal7: log2 of the rounds 63 is out of bounds (7 to 19)'],
  [`$S$CsaltSALT${C43}a`, 'drupal7: 55 characters are expected, not 56'],

  ['$aspnet-membership$c2FsdA==', 'aspnet-membership: the fields are not salt and hash'],
  [`$aspnet-membership$*$${HASH}`, 'aspnet-membership: the salt is not base64'],
  ['$aspnet-membership$c2FsdA==$*', 'aspnet-membership: the hash is not base64'],
  [`$aspnet-membership$c2FsdA==$${B64(21)}`, 'aspnet-membership: the hash has the length of no digest'],
  ['$bcrypt-sha512$$2x$', 'bcrypt-sha512: what follows $bcrypt-sha512$ is not a bcrypt hash'],
  ['{PBKDF2_STRETCH}x$salt$hash', '{PBKDF2_STRETCH}: rounds must be a whole number'],

  ['$form$rot13$x', 'form: what follows $form$ is not one or more of trim, html, nfkc, latin1, utf16, digest, and $'],
  [
    '$form$html,html$x',
    'form: what follows $form$ is not one or more of trim, html, nfkc, latin1, utf16, digest, and $',
  ],
  ['$form$html$x', 'form: what follows the form is not a hash of a known scheme'],
  ['$form$html$$form$trim$x', 'form: what follows the form is not a hash of a known scheme'],
  [`$form$html$$2b$03$${B53}`, 'bcrypt (html): cost 3 is out of bounds (4 to 16)'],

  ['$md5salted-prefix$salt', 'md5salted-prefix: the fields are not salt and hash'],
  [`$md5salted-suffix$salt$${B64(15)}`, 'md5salted-suffix: the hash is not 16 bytes'],
  [`$md5salted-suffix$salt$${B64(16)}=`, 'md5salted-suffix: the hash is not base64'],
  [`$md5salted-prefix$${'s'.repeat(160)}$${B64(16)}==`, 'md5salted-prefix: the hash is longer than 200 characters'],
  ['x'.repeat(201), 'unknown scheme: the hash is longer than 200 characters'],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${JSON.stringify(encoded.slice(0, 40))}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), problem);
    assert.equal(verifyHash(encoded, 'password'), false);
  });
}

const WITHIN_BOUNDS = [
  `$2a$04$${B53}`,
  `$2y$16$${B53}`,
  argon2('m=8,t=1,p=1'),
  argon2('m=262144,t=10,p=16', 'argon2i'),
  scrypt('ln=1,r=1,p=1'),
  scrypt('ln=18,r=8,p=6'),
  scrypt('ln=15,r=1,p=1'),
  scrypt('ln=20,r=2,p=6'),
  pbkdf2('1'),
  pbkdf2('10000000'),
  `$5$rounds=1000$salt$${C43}`,
  `$6$rounds=1000000$sixteenletters16$${C86}`,
  `$1$8letters$${C22}`,
  `$P$5saltSALT${C22}`,
  `$H$HsaltSALT${C22}`,
  `$S$5saltSALT${C43}`,
  `$S$HsaltSALT${C43}`,
  `$md5salted-prefix$${'ß'.repeat(157)}$${B64(16)}==`,
  '5F4DCC3B5AA765D61D8327DEB882CF99',
];

for (const encoded of WITHIN_BOUNDS) {
  test(`accepts ${encoded.slice(0, 40)}`, () => assert.equal(hashProblem(encoded), undefined));
}

test('the largest memory within the bounds is available', () => {
  for (const encoded of [argon2('m=524288,t=1,p=16'), scrypt('ln=18,r=8,p=1')]) {
    assert.equal(hashProblem(encoded), undefined);
    assert.equal(verifyHash(encoded, 'password'), false);
  }
});

test('names no scheme for unknown text', () => {
  assert.equal(schemeOf('$9$salt$hash'), undefined);
  assert.equal(schemeOf(argon2('m=64,t=1,p=1', 'argon2')), undefined);
});

/**
 * Hashes of Firebase, Django, werkzeug and WordPress: what is rejected, with which message, and what each one ignores.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, isCurrent, schemeSeen, verifyHash } from '../../src/passwords/registry.ts';
import { KNOWN_ANSWERS } from './known-answers.ts';

const B64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
const HEX = (bytes: number) => Buffer.alloc(bytes, 7).toString('hex');
const HASH = B64(64);
const BCRYPT = `$2b$10$${'.'.repeat(53)}`;
const FIELDS = 'the fields are not parameters, salt and hash';
const PARAMETERS = 'fbscrypt: the parameters are not v=…,n=…,r=…,p=…,ss=…,sk=…';
const PBKDF2_DIGESTS = 'werkzeug pbkdf2: the digest is not one of sha1, sha224, sha256, sha384, sha512';
const UNKNOWN = 'unknown scheme: it does not begin with a known identifier such as $2b$';
const firebase = (parameters: string, rest = `$${B64(7)}$${HASH}`) => `$fbscrypt$${parameters}${rest}`;
const keys = `ss=${B64(1)},sk=${HASH}`;

const REFUSED: Array<[encoded: string, problem: string]> = [
  [firebase(`v=2,n=14,r=8,p=1,${keys}`), 'fbscrypt: only version v=1 is supported'],
  [firebase(`v=1,n=0,r=8,p=1,${keys}`), 'fbscrypt: n 0 is out of bounds (1 to 20)'],
  [firebase(`v=1,n=14,r=0,p=1,${keys}`), 'fbscrypt: r 0 is out of bounds (1 to 1048576)'],
  [firebase(`v=1,n=14,r=8,p=17,${keys}`), 'fbscrypt: p 17 is out of bounds (1 to 16)'],
  [firebase(`v=1,n=16,r=1,p=1,${keys}`), 'fbscrypt: n 16 is out of bounds for r 1 (1 to 15)'],
  [firebase(`v=1,n=14,r=,p=1,${keys}`), 'fbscrypt: r must be a whole number'],
  [firebase(`v=1,n=14,r=8,p=1,ss=${B64(1)}`), PARAMETERS],
  [firebase(`v=1,n=14,r=8,p=1,sk=${HASH},ss=${B64(1)}`), PARAMETERS],
  [firebase(''), PARAMETERS],
  [firebase(`v=1,n=14,r=8,p=1,ss=?,sk=${HASH}`), 'fbscrypt: the salt separator ss is not base64'],
  [firebase(`v=1,n=14,r=8,p=1,ss=,sk=${HASH}=`), 'fbscrypt: the signer key sk is not base64'],
  [firebase(`v=1,n=14,r=8,p=1,${keys}`, `$-_$${HASH}`), 'fbscrypt: the salt is not base64'],
  [firebase(`v=1,n=14,r=8,p=1,${keys}`, `$${B64(7)}$${HASH}?`), 'fbscrypt: the hash is not base64'],
  [firebase(`v=1,n=14,r=8,p=1,${keys}`, `$${B64(7)}$${B64(11)}`), 'fbscrypt: the hash is shorter than 12 bytes'],
  [
    firebase(`v=1,n=14,r=8,p=1,${keys}`, `$${B64(7)}$${B64(63)}`),
    'fbscrypt: the hash is not as long as the signer key',
  ],
  [firebase(`v=1,n=14,r=8,p=1,${keys}`, `$${B64(7)}`), `fbscrypt: ${FIELDS}`],
  [firebase(`v=1,n=14,r=8,p=1,${keys}`, `$${B64(7)}$${HASH}$`), `fbscrypt: ${FIELDS}`],

  [`pbkdf2_sha256$1e5$salt$${B64(32)}`, 'django pbkdf2_sha256: rounds must be a whole number'],
  [`pbkdf2_sha256$10$salt$${B64(32)}$`, 'django pbkdf2_sha256: there are too few or too many fields'],
  ['pbkdf2_sha1$10$salt', 'django pbkdf2_sha1: there are too few or too many fields'],
  [`pbkdf2_sha1$10$salt$${B64(11)}`, 'django pbkdf2_sha1: the hash is shorter than 12 bytes'],
  [`pbkdf2_sha256$10$salt$${B64(32)}=`, 'django pbkdf2_sha256: the hash is not base64'],
  [`scrypt$16383$salt$8$1$${HASH}`, 'django scrypt: N is not a power of two'],
  [`scrypt$0$salt$8$1$${HASH}`, 'django scrypt: N is not a power of two'],
  [`scrypt$1$salt$8$1$${HASH}`, 'django scrypt: log2 of N 0 is out of bounds (1 to 20)'],
  [`scrypt$${2 ** 40}$salt$8$1$${HASH}`, 'django scrypt: log2 of N 40 is out of bounds (1 to 20)'],
  [`scrypt$${'9'.repeat(80)}$salt$8$1$${HASH}`, 'django scrypt: N is not a power of two'],
  [`scrypt$salt$16384$8$1$${HASH}`, 'django scrypt: N must be a whole number'],
  [`scrypt$16384$salt$8$1`, 'django scrypt: there are too few or too many fields'],
  ['argon2$argon2x$v=19$m=8,t=1,p=1$x$y', 'django argon2: what follows argon2 is not an argon2 hash'],
  [`argon2$argon2i$m=8,t=1,p=1$${B64(8)}$${B64(16)}`, 'django argon2: v=19 is missing'],
  [`argon2$argon2id$v=19$m=8,t=0,p=1$x$y`, 'django argon2: passes t 0 is out of bounds (1 to 100000)'],
  [`bcrypt$${BCRYPT}.`, 'django bcrypt: 60 characters are expected, not 61'],
  ['bcrypt$$2x$10$salt', 'django bcrypt: what follows bcrypt$ is not a bcrypt hash'],
  ['bcrypt_sha256$$2b$17$', 'django bcrypt_sha256: cost 17 is out of bounds (4 to 16)'],
  [`sha1$salt$${HEX(19)}`, 'django sha1: the hash is not 20 bytes'],
  [`md5$salt$${HEX(16).replace('0', 'g')}`, 'django md5: the hash is not hexadecimal'],
  [`md5$salt$${HEX(16)}$x`, 'django md5: the fields are not salt and hash'],

  [`scrypt:32768:8$salt$${HEX(64)}`, 'werkzeug scrypt: the parameters are not N:r:p'],
  [`scrypt:32768:8:1:1$salt$${HEX(64)}`, 'werkzeug scrypt: the parameters are not N:r:p'],
  [`scrypt:32767:8:1$salt$${HEX(64)}`, 'werkzeug scrypt: N is not a power of two'],
  [`scrypt:32768:8:1$salt$${HEX(64)}0`, 'werkzeug scrypt: the hash is not hexadecimal'],
  [`scrypt:32768:8:1$${HEX(64)}`, `werkzeug scrypt: ${FIELDS}`],
  [`pbkdf2:sha256$salt$${HEX(32)}`, 'werkzeug pbkdf2: the parameters are not digest:rounds'],
  [`pbkdf2:sha256:1:2$salt$${HEX(32)}`, 'werkzeug pbkdf2: the parameters are not digest:rounds'],
  [`pbkdf2:sha256:0$salt$${HEX(32)}`, 'werkzeug pbkdf2: rounds 0 is out of bounds (1 to 10000000)'],
  [`pbkdf2:sha256:1$salt$${HEX(11)}`, 'werkzeug pbkdf2: the hash is shorter than 12 bytes'],
  [`pbkdf2:whirlpool:1$salt$${HEX(64)}`, PBKDF2_DIGESTS],
  [`pbkdf2$salt$${HEX(64)}`, 'unknown scheme "pbkdf2"'],

  ['$wp2b$10$x', 'unknown scheme "$wp2b$"'],
  ['$wp$P$Bxxx', 'wordpress bcrypt: what follows $wp is not a bcrypt hash'],
  [`$wp${BCRYPT}.`, 'wordpress bcrypt: 60 characters are expected, not 61'],

  ['foo_sha256$600000$salt$hash', 'unknown scheme "foo_sha256"'],
  ['sha3_512$salt$hash', 'unknown scheme "sha3_512"'],
  ['foo:bar:600000$salt$hash', 'unknown scheme "foo"'],
  ['crypt$$ab1Hv2Lg7ltQo', 'unknown scheme "crypt"'],
  ['foo_sha256$salt', UNKNOWN],
  ['foo:bar:salt:hash', UNKNOWN],
  ['Foo$salt$hash', UNKNOWN],
  ['c7eb7f$$$6562998dc37087ee3c81810b93', UNKNOWN],
  ['my-very-own-password$is$this', UNKNOWN],
  [`${'x'.repeat(13)}$salt$hash`, UNKNOWN],
  ['foo_bar_baz_boo$salt$hash', UNKNOWN],
];

for (const [encoded, problem] of REFUSED) {
  test(`rejects ${JSON.stringify(encoded.slice(0, 40))}: ${problem}`, () => {
    assert.equal(hashProblem(encoded), problem);
    assert.equal(verifyHash(encoded, 'password'), false);
  });
}

test('shorter forms are accepted', () => {
  for (const encoded of [
    firebase(`v=1,n=14,r=8,p=1,sk=${HASH}`),
    firebase(`v=1,n=14,r=8,p=1,ss=,sk=${HASH.replaceAll('=', '')}`, `$$${HASH.replaceAll('=', '')}`),
    `pbkdf2_sha256$1$$${B64(32)}`,
    `scrypt:2:1:1$$${HEX(12)}`,
  ]) {
    assert.equal(hashProblem(encoded), undefined, encoded);
  }
});

test('statistics name known hashes by scheme, unknown ones by identifier', () => {
  assert.equal(schemeSeen(`pbkdf2_sha256$1$salt$${B64(32)}`), 'django pbkdf2_sha256');
  assert.equal(schemeSeen('$argon2$v=19$x'), '$argon2$');
  assert.equal(schemeSeen('{FOO}x'), '{FOO}');
  assert.equal(schemeSeen('foo_sha256$1$salt$hash'), 'foo_sha256');
  assert.equal(schemeSeen('sha1:abc'), 'unknown');
});

test('a login keeps a hash that ignores part of the password', () => {
  const of = (scheme: string, password: string) =>
    KNOWN_ANSWERS.find((answer) => answer.scheme === scheme && answer.password === password) ?? assert.fail();
  const long = '0123456789'.repeat(8);
  for (const [scheme, password, kept] of [
    ['django bcrypt', long, true],
    ['django bcrypt', 'Pässwörd ✓ 🔑', false],
    ['django bcrypt_sha256', `${'x'.repeat(99)}!`, false],
    ['wordpress bcrypt', `${'x'.repeat(99)}!`, false],
    ['wordpress bcrypt', ' \tblanks ', true],
    ['wordpress bcrypt', 'it\'s "so"', false],
    ['phpass', ' \tblanks ', true],
    ['phpass', 'it\'s "so"', false],
  ] as const) {
    assert.equal(isCurrent(of(scheme, password).encoded, password, 10), kept, `${scheme} of ${password}`);
  }
});

test('WordPress trims blanks and nothing else', () => {
  const { encoded } =
    KNOWN_ANSWERS.find((answer) => answer.encoded.startsWith('$wp$2y$04$M') && answer.password.startsWith(' ')) ??
    assert.fail();
  for (const password of ['blanks', 'blanks\n', ' \0blanks\x0B\r']) assert.equal(verifyHash(encoded, password), true);
  for (const password of ['bla nks', '\u00a0blanks', 'Blanks', '']) assert.equal(verifyHash(encoded, password), false);
});

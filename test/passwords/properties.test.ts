/** For any text: acceptance never throws or reveals secrets, and every accepted hash can be verified. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hashProblem, SCHEMES, schemeOf, verifyHash } from '../../src/passwords/registry.ts';
import { ALPHABET } from '../../src/passwords/schemes/crypt3.ts';
import fc from '../support/fast-check.ts';
import { KNOWN_ANSWERS } from './known-answers.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 250 });
const known = fc.constantFrom(...KNOWN_ANSWERS.map((answer) => answer.encoded));

/** A real hash with any part of it replaced. */
const damaged = fc
  .tuple(
    known,
    fc.nat(1000),
    fc.nat(6),
    fc.oneof(fc.string({ maxLength: 3 }), fc.constantFrom('$', '=', '.', '0', '\n')),
  )
  .map(([encoded, place, cut, put]) => {
    const at = place % (encoded.length + 1);
    return encoded.slice(0, at) + put + encoded.slice(at + cut);
  });

const base64 = (min: number, max: number) =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((b) => Buffer.from(b).toString('base64').replace(/=+$/, ''));
const hex = (min: number, max: number) =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((b) => Buffer.from(b).toString('hex'));
/** A salt of literal text. */
const literal = fc.string({ unit: 'binary', maxLength: 20 }).map((salt) => salt.replaceAll('$', ''));
const crypt64 = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: min, maxLength: max });
const int = (min: number, max: number) => fc.integer({ min, max });
const join = (...parts: Array<fc.Arbitrary<string | number>>) => fc.tuple(...parts).map((list) => list.join(''));
const text = (value: string) => fc.constant(value);

/** Well-formed hashes of every scheme, with all kinds of parameters that are cheap to verify. */
const wellFormed = fc.oneof(
  join(fc.constantFrom('$2a$04$', '$2b$04$', '$2y$05$'), crypt64(53, 53)),
  int(1, 16).chain((p) =>
    join(
      fc.constantFrom('$argon2i$v=19$m=', '$argon2id$v=19$m='),
      int(8 * p, 256),
      text(',t='),
      int(1, 3),
      text(`,p=${p}$`),
      join(base64(8, 40), text('$'), base64(12, 64)),
    ),
  ),
  join(
    text('$scrypt$ln='),
    int(1, 7),
    text(',r='),
    int(1, 20),
    text(',p='),
    join(int(1, 16), text('$'), base64(0, 40), text('$'), base64(12, 64)),
  ),
  join(
    fc.constantFrom('$pbkdf2$', '$pbkdf2-sha224$', '$pbkdf2-sha256$', '$pbkdf2-sha384$', '$pbkdf2-sha512$'),
    join(int(1, 500), text('$'), base64(0, 40), text('$'), base64(12, 64)),
  ),
  join(text('$5$rounds=10'), int(10, 99), text('$'), crypt64(0, 16), text('$'), crypt64(42, 42), text('.')),
  join(text('$6$rounds=10'), int(10, 99), text('$'), crypt64(0, 16), text('$'), crypt64(85, 85), text('/')),
  join(text('$1$'), crypt64(0, 8), text('$'), crypt64(21, 21), text('1')),
  join(fc.constantFrom('$P$5', '$H$7'), crypt64(29, 29), text('.')),
  join(text('$S$6'), crypt64(51, 51)),
  join(text('$formula$sha1(salt+sha1(password))$'), base64(1, 40), text('$'), base64(20, 20)),
  join(
    text('$formula$pbkdf2-sha512('),
    int(1, 200),
    text(',salt,password)$'),
    base64(1, 40),
    text('$'),
    base64(12, 64),
  ),
  join(text('$formula$bcrypt(md5(password))$$$2b$04$'), crypt64(53, 53)),
  join(fc.constantFrom('$md5salted-prefix$', '$md5salted-suffix$'), anyText, text('$'), base64(16, 16)).filter(
    (encoded) => encoded.split('$').length === 4 && encoded.length <= 200,
  ),
  hex(16, 16),
  fc
    .tuple(int(1, 7), int(1, 20), int(1, 3), base64(0, 9), base64(0, 20), int(12, 100))
    .chain(([n, r, p, ss, salt, length]) =>
      join(
        text(`$fbscrypt$v=1,n=${n},r=${r},p=${p},ss=${ss},sk=`),
        base64(length, length),
        text(`$${salt}$`),
        base64(length, length),
      ),
    ),
  join(fc.constantFrom('pbkdf2_sha256$', 'pbkdf2_sha1$'), int(1, 500), text('$'), literal, text('$'), base64(12, 64)),
  join(text('scrypt$64$'), literal, text('$'), int(1, 20), text('$'), int(1, 3), text('$'), base64(12, 64)),
  join(text('argon2$argon2id$v=19$m=64,t=1,p=1$'), base64(8, 40), text('$'), base64(12, 64)),
  join(fc.constantFrom('bcrypt$$2b$04$', 'bcrypt_sha256$$2b$04$', '$wp$2y$04$'), crypt64(53, 53)),
  join(text('md5$'), literal, text('$'), hex(16, 16)),
  join(text('sha1$'), literal, text('$'), hex(20, 20)),
  join(text('scrypt:64:8:1$'), literal, text('$'), hex(12, 64)),
  join(text('pbkdf2:sha384:'), int(1, 500), text('$'), literal, text('$'), hex(12, 64)),
  join(fc.constantFrom('{SHA}', '{sha}'), base64(20, 20)),
  join(fc.constantFrom('{SSHA}', '{Ssha}'), base64(21, 140)),
  join(text('{SSHA512}'), base64(65, 140)),
  join(fc.constantFrom('{CRYPT}$2a$04$', '{BCRYPT}$2b$04$', '{bcrypt}$2y$04$'), crypt64(53, 53)),
  join(
    fc.constantFrom('{PBKDF2}', '{PBKDF2-SHA256}'),
    int(1, 500),
    text('$'),
    base64(0, 40),
    text('$'),
    base64(12, 64),
  ),
  fc.uint8Array({ minLength: 48, maxLength: 48 }).map((b) => Buffer.from([0, ...b]).toString('base64')),
  fc
    .tuple(int(0, 2), int(1, 500), int(16, 60), fc.uint8Array({ minLength: 76, maxLength: 137 }))
    .map(([prf, rounds, salt, rest]) => {
      const head = Buffer.from([1, 0, 0, 0, prf, 0, 0, rounds >> 8, rounds & 255, 0, 0, 0, salt]);
      return Buffer.concat([head, rest]).toString('base64');
    }),
  join(text('$salted-sha256-suffix$r='), int(1, 500), text('$'), base64(0, 60), text('$'), base64(32, 32)),
  join(text('$salted-sha512-prefix$'), base64(0, 60), text('$'), base64(64, 64)),
  join(text('$hmac-sha384$'), base64(1, 60), text('$'), base64(48, 48)),
  join(text('$apr1$'), crypt64(0, 8), text('$'), crypt64(21, 21), text('1')),
  join(text('$sha1$'), int(1, 99), text('$'), crypt64(0, 20), text('$'), crypt64(28, 28)),
  join(text('$y$j5/$'), fc.constantFrom('', 'abcd', 'abcdefgh'), text('$'), crypt64(42, 42), text('.')),
  join(crypt64(12, 12), fc.constantFrom('.', '2', 'w')),
  join(text('_/...'), crypt64(14, 14), text('.')),
  join(text('$bcrypt-sha256$v=2,t=2b,r=4$'), crypt64(22, 22), text('$'), crypt64(31, 31)),
  join(fc.constantFrom('$2x$04$', '$bcrypt-sha512$$2a$04$', '$form$html,latin1$$2a$04$'), crypt64(53, 53)),
  join(text('$aspnet-membership$'), base64(1, 40), text('$'), fc.oneof(base64(20, 20), base64(32, 32), base64(64, 64))),
  join(text('{PBKDF2_STRETCH}'), int(1, 500), text('$'), base64(8, 40), text('$'), base64(32, 32)),
  join(text('$argon2id$v=19$t=20,m=64,p=2,data=Zm9v$'), base64(8, 40), text('$'), base64(12, 64)),
  join(text('$argon2d$v=19$m=64,t=1,p=1$'), base64(8, 40), text('$'), base64(12, 64)),
  join(text('$pbkdf2-sha3-256$i='), int(1, 99), text('$'), base64(0, 40), text('$'), base64(12, 64)),
  join(text('{PBKDF2-HMAC-SHA512}'), int(1, 99), text(':'), base64(65, 100)),
  join(text('{scrypt}$60802$'), base64(0, 40), text('$'), base64(12, 64)),
  join(text('{sha256}'), hex(40, 40)),
  join(text('{SHA-256}{'), base64(0, 32), text('}'), hex(32, 32)),
  join(fc.constantFrom('sha512_symfony$'), int(1, 99), text('$salt$'), base64(64, 64)),
  join(hex(16, 16), text(':'), crypt64(1, 60)),
  join(hex(32, 32), text(':saltsalt:'), fc.constantFrom('1', '0:1', '3_32_1_65536')),
  fc.oneof(hex(20, 20), hex(32, 32), hex(64, 64)),
);

test('hashProblem returns a result for any text, intact or damaged', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, damaged, join(known, anyText), join(text('$'), anyText)), (encoded) => {
      const problem = hashProblem(encoded);
      assert.ok(problem === undefined || (problem.length > 0 && problem.length < 120));
      if (problem === undefined) assert.notEqual(schemeOf(encoded), undefined);
    }),
    { numRuns: 5000 },
  );
});

test('messages repeat no salt and no hash', () => {
  // What a message names itself, and a damaged hash may also hold.
  const own = [...SCHEMES.map((scheme) => scheme.name), 'v=2,t=2b,r=4'].join(' ');
  fc.assert(
    fc.property(damaged, (encoded) => {
      const problem = hashProblem(encoded) ?? '';
      for (const field of encoded.replace(/^(\$[^$]*\$|\{[^}]*\}(\$[^$]*\$)?|[a-z]{3}[a-z0-9_]*[$:])/, '').split('$')) {
        const secret = field.length >= 6 && !/^\d+$/.test(field) && !own.includes(field);
        assert.ok(!secret || !problem.includes(field), problem);
      }
    }),
    { numRuns: 5000 },
  );
});

test('well-formed hashes are accepted, and verify without an error', () => {
  fc.assert(
    fc.property(wellFormed, anyText, (encoded, password) => {
      assert.equal(hashProblem(encoded), undefined, encoded);
      assert.equal(verifyHash(encoded, password), false);
    }),
    { numRuns: 400 },
  );
});

const PARAMETERS = new RegExp(
  [
    /^([a-z0-9_]+\$|\$wp)?\$2.\$\d\d\$/,
    /^\$[PHS]\$./,
    /^\d+[$:]/,
    /^_.{4}/,
    /^\$(?:y|bcrypt-sha256)\$[^$]*\$/,
    /^AQAAAA.{12}/,
    /^\$fbscrypt\$[^$]*\$/,
    /^[a-z0-9]+:[^$]*\$/,
    /^.*?(=\d+|\$\d{2,})\$/,
    /^\$[a-z0-9-]+\$/,
  ]
    .map((form) => form.source)
    .join('|'),
);
/** Schemes that take long to verify. */
const DEAR =
  /^[0-9a-f]{32}:[0-9a-f]{128}$|^s2:|^[0-9a-z]{16}:|:2$|SpringSecurity|\{scrypt\}\$e|\{pbkdf2\}[0-9a-f]{80}|\$y\$j9T|=65536|=123456|=77777|=1000000|=102400|\$390000|\$80000|\$H\$H|:600000|:32768/;

/** Does not damage identifier and parameters, which could make verification expensive. */
const damagedBehindParameters = fc
  .tuple(
    fc.constantFrom(...KNOWN_ANSWERS.filter((answer) => !DEAR.test(answer.encoded))),
    fc.nat(1000),
    fc.string({ maxLength: 2 }),
  )
  .map(([{ encoded }, place, put]) => {
    const name = /^\{[^}]*\}/.exec(encoded)?.[0].length ?? 0;
    const salt = name + (PARAMETERS.exec(encoded.slice(name))?.[0].length ?? 0);
    const at = salt + (place % (encoded.length - salt));
    return encoded.slice(0, at) + put + encoded.slice(at + put.length);
  });

test('damaged hashes that are accepted verify without an error', () => {
  let taken = 0;
  fc.assert(
    fc.property(damagedBehindParameters, anyText, (encoded, password) => {
      if (hashProblem(encoded) !== undefined) return;
      taken++;
      assert.equal(typeof verifyHash(encoded, password), 'boolean');
    }),
    { numRuns: 300 },
  );
  assert.ok(taken > 20, `only ${taken} were taken`);
});

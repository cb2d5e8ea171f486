/** Of whatever text: acceptance never throws nor tells secrets, and what it takes can be verified. */
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ALPHABET } from '../../src/passwords/crypt3.ts';
import { hashProblem, SCHEMES, schemeOf, verifyHash } from '../../src/passwords/registry.ts';
import { KNOWN_ANSWERS } from './known-answers.ts';

const anyText = fc.string({ unit: 'binary', maxLength: 250 });
const known = fc.constantFrom(...KNOWN_ANSWERS.map((answer) => answer.encoded));

/** A real hash with a piece taken out and another put in, anywhere in it. */
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
const crypt64 = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: min, maxLength: max });
const int = (min: number, max: number) => fc.integer({ min, max });
const join = (...parts: Array<fc.Arbitrary<string | number>>) => fc.tuple(...parts).map((list) => list.join(''));
const text = (value: string) => fc.constant(value);

/** Well-formed hashes of every scheme, all over their parameters but cheap to verify. */
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
  join(fc.constantFrom('$md5salted-prefix$', '$md5salted-suffix$'), anyText, text('$'), base64(16, 16)).filter(
    (encoded) => encoded.split('$').length === 4 && encoded.length <= 200,
  ),
  fc.uint8Array({ minLength: 16, maxLength: 16 }).map((b) => Buffer.from(b).toString('hex')),
);

test('hashProblem answers to any text, whole or damaged', () => {
  fc.assert(
    fc.property(fc.oneof(anyText, damaged, join(known, anyText), join(text('$'), anyText)), (encoded) => {
      const problem = hashProblem(encoded);
      assert.ok(problem === undefined || (problem.length > 0 && problem.length < 120));
      if (problem === undefined) assert.notEqual(schemeOf(encoded), undefined);
    }),
    { numRuns: 5000 },
  );
});

test('a message repeats no salt and no hash', () => {
  const own = SCHEMES.map((scheme) => scheme.name).join(' ');
  fc.assert(
    fc.property(damaged, (encoded) => {
      const problem = hashProblem(encoded) ?? '';
      for (const field of encoded.split('$').slice(2)) {
        const secret = field.length >= 6 && !own.includes(field);
        assert.ok(!secret || !problem.includes(field), problem);
      }
    }),
    { numRuns: 5000 },
  );
});

test('what is well-formed is taken, and verifies without an error', () => {
  fc.assert(
    fc.property(wellFormed, anyText, (encoded, password) => {
      assert.equal(hashProblem(encoded), undefined, encoded);
      assert.equal(verifyHash(encoded, password), false);
    }),
    { numRuns: 400 },
  );
});

/** Leaves identifier and parameters alone: a damaged one might be dear to verify. */
const damagedBehindParameters = fc
  .tuple(
    fc.constantFrom(...KNOWN_ANSWERS.filter((answer) => !/=65536|=123456|=77777|\$80000|\$H\$H/.test(answer.encoded))),
    fc.nat(1000),
    fc.string({ maxLength: 2 }),
  )
  .map(([{ encoded }, place, put]) => {
    const salt = /^\$2.\$\d\d\$|^\$[PHS]\$.|^.*?(=\d+|\$\d{2,})\$|^\$[a-z0-9-]+\$|^/.exec(encoded)?.[0].length ?? 0;
    const at = salt + (place % (encoded.length - salt));
    return encoded.slice(0, at) + put + encoded.slice(at + put.length);
  });

test('what is taken in spite of its damage verifies without an error', () => {
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

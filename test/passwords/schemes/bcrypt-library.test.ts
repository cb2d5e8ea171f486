/** The native bcrypt gives the same bytes as bcryptjs, which takes its place where it has no binary. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import test from 'node:test';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import bcryptjs from 'bcryptjs';
import {
  bcryptBytes,
  bcryptLibrary,
  bcryptScheme,
  makeBcrypt,
  openBcrypt,
  warnWithoutBinary,
} from '../../../src/passwords/schemes/bcrypt.ts';
import { ALPHABET } from '../../../src/passwords/schemes/crypt3.ts';
import fc from '../../support/fast-check.ts';

const HAS_BINARY = existsSync(`node_modules/bcrypt/prebuilds/${process.platform}-${process.arch}`);
const SALT = 'MusterNoSuchUserHere.u';

/** Also with NUL, halves of surrogate pairs, and more bytes than count. */
const password = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 90 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 90 }).map((codes) => String.fromCharCode(...codes)),
  fc.string({ unit: fc.constantFrom('\0', 'a', 'é', '€', '😀'), minLength: 15, maxLength: 80 }),
  fc.string({ unit: 'binary-ascii', minLength: 65, maxLength: 80 }),
  // The length modulo 256 once counted, in the native library.
  fc.string({ unit: 'binary-ascii', minLength: 250, maxLength: 520 }),
);
/** The last character may have bits that do not count. */
const salt = fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: 22, maxLength: 22 });
const cost = fc.oneof({ weight: 20, arbitrary: fc.constant(4) }, fc.integer({ min: 5, max: 6 }));

test('the platforms of the binaries use them', { skip: !HAS_BINARY }, () => {
  const { name, problem } = bcryptLibrary();
  assert.deepEqual([name, problem], ['bcrypt', undefined]);
});

test('both libraries give the same hash for every password, salt and cost', () => {
  const library = bcryptLibrary();
  fc.assert(
    fc.property(password, cost, salt, (text, rounds, of) => {
      const expected = bcryptjs.hashSync(text, `$2b$0${rounds}$${of}`);
      assert.deepEqual(bcryptBytes(library.hash(text, rounds, of)), bcryptBytes(expected));
    }),
    { numRuns: 1000 },
  );
});

test('both libraries give the same hash for every cost', () => {
  for (let rounds = 4; rounds <= 11; rounds++) {
    const expected = bcryptjs.hashSync('correct horse', `$2b$${String(rounds).padStart(2, '0')}$${SALT}`);
    assert.equal(bcryptLibrary().hash('correct horse', rounds, SALT), expected);
  }
});

test('hashes of bcryptjs verify under each of their names, and no other password does', () => {
  fc.assert(
    fc.property(password, fc.constantFrom('a', 'b', 'y'), salt, (text, variant, of) => {
      const encoded = bcryptjs.hashSync(text, `$2b$04$${of}`).replace('$2b$', `$2${variant}$`);
      assert.equal(bcryptScheme.verify(encoded, text), true);
      assert.equal(bcryptScheme.verify(encoded, `x${text}`), bcryptjs.compareSync(`x${text}`, encoded));
    }),
    { numRuns: 200 },
  );
});

test('bcryptjs verifies new hashes, each of which has its own salt', () => {
  const [one, other] = [makeBcrypt('correct horse', 4), makeBcrypt('correct horse', 4)];
  assert.notEqual(one.slice(7, 29), other.slice(7, 29));
  assert.ok(bcryptjs.compareSync('correct horse', one));
  assert.ok(!bcryptjs.compareSync('correct house', one));
});

test('without a binary, bcryptjs computes the same hashes, and the process says so', () => {
  const problem = new Error('No native build was found');
  const library = openBcrypt(() => {
    throw problem;
  });
  assert.deepEqual([library.name, library.problem], ['bcryptjs', problem]);
  assert.equal(library.hash('correct horse', 4, SALT), bcryptLibrary().hash('correct horse', 4, SALT));

  const warnings: unknown[] = [];
  const logger = { warn: (...line: unknown[]) => warnings.push(line) };
  warnWithoutBinary(logger, library);
  assert.match(inspect(warnings), /No native build was found[\s\S]*computed in JavaScript/);
  warnings.length = 0;
  warnWithoutBinary(logger, { name: 'bcrypt', hash: library.hash });
  assert.deepEqual(warnings, []);
});

test('threads that load it and end at the same time get their results', async () => {
  const expected = bcryptjs.hashSync('correct horse', `$2b$08$${SALT}`);
  const code = `const { parentPort, workerData } = await import('node:worker_threads');
    const { bcryptLibrary } = await import(workerData);
    parentPort.postMessage(bcryptLibrary().hash('correct horse', 8, '${SALT}'));`;
  const file = new URL('../../../src/passwords/schemes/bcrypt.ts', import.meta.url).href;
  const made = await Promise.all(
    Array.from(
      { length: 6 },
      () =>
        new Promise((resolve, reject) => {
          const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData: file });
          thread.once('message', resolve).once('error', reject);
        }),
    ),
  );
  assert.deepEqual(
    made,
    Array.from({ length: 6 }, () => expected),
  );
});

/**
 * Django's column `password`: the name of a hasher, `$`, and that hasher's output. Salts are literal text.
 * docs.djangoproject.com, "Password management in Django"; django.contrib.auth.hashers.
 *
 * `pbkdf2_sha256$rounds$salt$hash` and `pbkdf2_sha1$…` in base64, `scrypt$N$salt$r$p$hash` in base64,
 * `argon2$argon2id$…`, `bcrypt$$2b$…`, `bcrypt_sha256$$2b$…` (of the password's SHA-256 in hexadecimal digits);
 * `md5$salt$hash` and `sha1$salt$hash`, one digest of salt and password in hexadecimal digits, are in django-digest.ts.
 */
import { hash, pbkdf2Sync } from 'node:crypto';
import { decodeBase64, defineScheme, joined, type Scheme, SHORTEST_DIGEST, sameBytes, wholeNumber } from '../scheme.ts';
import { pbkdf2Work, scryptWork } from '../work.ts';
import { argon2Schemes } from './argon2.ts';
import { bcryptScheme, bcryptSeesAll } from './bcrypt.ts';
import { djangoDigestSchemes } from './django-digest.ts';
import { roundsProblem } from './pbkdf2.ts';
import { deriveScrypt, scryptCostOfN } from './scrypt.ts';
import { wrappedScheme } from './wrapped.ts';

interface Salted {
  salt: Buffer;
  digest: Buffer;
}

function parseSalted(salt: string | undefined, digestText: string | undefined, more: string[]): Salted | string {
  if (salt === undefined || digestText === undefined || more.length > 0) return 'there are too few or too many fields';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return { salt: Buffer.from(salt), digest };
}

function pbkdf2(hasher: string, algorithm: string): Scheme {
  const prefix = `${hasher}$`;
  function parse(encoded: string): (Salted & { rounds: number }) | string {
    const [roundsText, salt, digest, ...more] = encoded.slice(prefix.length).split('$');
    const rounds = wholeNumber(roundsText);
    const problem = roundsProblem(rounds);
    if (problem !== undefined) return problem;
    const parts = parseSalted(salt, digest, more);
    return typeof parts === 'string' ? parts : { ...parts, rounds };
  }
  return defineScheme({
    name: `django ${hasher}`,
    matches: (encoded) => encoded.startsWith(prefix),
    parse,
    work: ({ rounds, digest }) => pbkdf2Work(algorithm, rounds, digest.length),
    verify: ({ rounds, salt, digest }, password) =>
      sameBytes(pbkdf2Sync(joined(password), salt, rounds, digest.length, algorithm), digest),
  });
}

const scrypt = defineScheme({
  name: 'django scrypt',
  matches: (encoded) => encoded.startsWith('scrypt$'),
  parse(encoded) {
    const [, n, salt, r, p, digest, ...more] = encoded.split('$');
    const cost = scryptCostOfN(n, r, p);
    if (typeof cost === 'string') return cost;
    const parts = parseSalted(salt, digest, more);
    return typeof parts === 'string' ? parts : { ...parts, cost };
  },
  work: ({ cost }) => scryptWork(cost),
  verify: ({ cost, salt, digest }, password) => sameBytes(deriveScrypt(password, salt, cost, digest.length), digest),
});

const argon2 = wrappedScheme({
  name: 'django argon2',
  prefix: 'argon2',
  inside: argon2Schemes,
  expected: 'an argon2 hash',
  readings: (password) => [password],
});

const bcrypt = wrappedScheme({
  name: 'django bcrypt',
  prefix: 'bcrypt$',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => [password],
  seesAll: bcryptSeesAll,
});

const bcryptSha256 = wrappedScheme({
  name: 'django bcrypt_sha256',
  prefix: 'bcrypt_sha256$',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => [hash('sha256', password)],
});

export const djangoSchemes = [
  pbkdf2('pbkdf2_sha256', 'sha256'),
  pbkdf2('pbkdf2_sha1', 'sha1'),
  argon2,
  bcryptSha256,
  bcrypt,
  scrypt,
  ...djangoDigestSchemes,
];

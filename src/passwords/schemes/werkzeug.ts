/**
 * werkzeug, Flask's hashing: `scrypt:N:r:p$salt$hash` and `pbkdf2:digest:rounds$salt$hash`. The salt is the literal
 * text, the hash is hexadecimal. Every version since 0.9 has written the rounds into the hash; without them the number
 * is unknown, because the default has changed five times. werkzeug.palletsprojects.com, werkzeug.security.
 */
import { pbkdf2Sync } from 'node:crypto';
import { decodeHex, defineScheme, joined, SHORTEST_DIGEST, sameBytes, wholeNumber } from '../scheme.ts';
import { pbkdf2Work, scryptWork } from '../work.ts';
import { roundsProblem } from './pbkdf2.ts';
import { deriveScrypt, type ScryptCost, scryptCostOfN } from './scrypt.ts';

const DIGESTS = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

interface Parts {
  salt: Buffer;
  digest: Buffer;
}

function parseFields(fields: string[]): Parts | string {
  const [salt, digestText, ...more] = fields;
  if (salt === undefined || digestText === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  const digest = decodeHex(digestText);
  if (digest === undefined) return 'the hash is not hexadecimal';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return { salt: Buffer.from(salt), digest };
}

function parseScrypt(encoded: string): (Parts & { cost: ScryptCost }) | string {
  const [method = '', ...fields] = encoded.split('$');
  const [, n, r, p, ...more] = method.split(':');
  if (p === undefined || more.length > 0) return 'the parameters are not N:r:p';
  const cost = scryptCostOfN(n, r, p);
  if (typeof cost === 'string') return cost;
  const parts = parseFields(fields);
  return typeof parts === 'string' ? parts : { ...parts, cost };
}

function parsePbkdf2(encoded: string): (Parts & { algorithm: string; rounds: number }) | string {
  const [method = '', ...fields] = encoded.split('$');
  const [, algorithm = '', roundsText, ...more] = method.split(':');
  if (!DIGESTS.includes(algorithm)) return `the digest is not one of ${DIGESTS.join(', ')}`;
  if (roundsText === undefined || more.length > 0) return 'the parameters are not digest:rounds';
  const rounds = wholeNumber(roundsText);
  const problem = roundsProblem(rounds);
  if (problem !== undefined) return problem;
  const parts = parseFields(fields);
  return typeof parts === 'string' ? parts : { ...parts, algorithm, rounds };
}

export const werkzeugSchemes = [
  defineScheme({
    name: 'werkzeug scrypt',
    matches: (encoded) => encoded.startsWith('scrypt:'),
    parse: parseScrypt,
    work: ({ cost }) => scryptWork(cost),
    verify: ({ cost, salt, digest }, password) => sameBytes(deriveScrypt(password, salt, cost, digest.length), digest),
  }),
  defineScheme({
    name: 'werkzeug pbkdf2',
    matches: (encoded) => encoded.startsWith('pbkdf2:'),
    parse: parsePbkdf2,
    work: ({ algorithm, rounds, digest }) => pbkdf2Work(algorithm, rounds, digest.length),
    verify: ({ algorithm, rounds, salt, digest }, password) =>
      sameBytes(pbkdf2Sync(joined(password), salt, rounds, digest.length, algorithm), digest),
  }),
];

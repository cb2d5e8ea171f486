/**
 * PBKDF2 (RFC 8018) as passlib writes it: `$pbkdf2-sha256$rounds$salt$hash`; `$pbkdf2$` is SHA-1. The PHC string format
 * writes `i=rounds,l=length` in place of the rounds, as in Discourse.
 *
 * Salt and hash are base64, standard or with `.` for `+`, padded or not. The length of the hash is the key length.
 */
import { pbkdf2Sync } from 'node:crypto';
import {
  decodeBase64,
  defineScheme,
  joined,
  numberProblem,
  type Scheme,
  SHORTEST_DIGEST,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { pbkdf2Work } from '../work.ts';

const MOST_ROUNDS = 10_000_000;

/** What is wrong with the number of rounds, or undefined. */
export function roundsProblem(rounds: number): string | undefined {
  return numberProblem('rounds', rounds, 1, MOST_ROUNDS);
}

/** Rounds alone, or the PHC string format's `i=rounds,l=length`, in which the length may be missing. */
const PARAMETERS = /^i=([^,]*)(?:,l=([^,]*))?$/;

function parse(body: string): { rounds: number; salt: Buffer; digest: Buffer } | string {
  const [parameters = '', saltText, digestText, ...more] = body.split('$');
  const [, roundsText = parameters, lengthText] = PARAMETERS.exec(parameters) ?? [];
  const rounds = wholeNumber(roundsText);
  const problem = roundsProblem(rounds);
  if (problem !== undefined) return problem;
  if (saltText === undefined || digestText === undefined || more.length > 0) {
    return 'the fields are not rounds, salt and hash';
  }
  const salt = decodeBase64(saltText, { adapted: true });
  if (salt === undefined) return 'the salt is not base64';
  const digest = decodeBase64(digestText, { adapted: true });
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  if (lengthText !== undefined && wholeNumber(lengthText) !== digest.length) return 'the hash is not of the length l';
  return { rounds, salt, digest };
}

function pbkdf2(name: string, algorithm: string): Scheme {
  const prefix = `$${name}$`;
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded.slice(prefix.length)),
    work: ({ rounds, digest }) => pbkdf2Work(algorithm, rounds, digest.length),
    verify: ({ rounds, salt, digest }, password) =>
      sameBytes(pbkdf2Sync(joined(password), salt, rounds, digest.length, algorithm), digest),
  });
}

export const pbkdf2Schemes = [
  pbkdf2('pbkdf2', 'sha1'),
  pbkdf2('pbkdf2-sha224', 'sha224'),
  pbkdf2('pbkdf2-sha256', 'sha256'),
  pbkdf2('pbkdf2-sha384', 'sha384'),
  pbkdf2('pbkdf2-sha512', 'sha512'),
  ...['sha3-224', 'sha3-256', 'sha3-384', 'sha3-512'].map((algorithm) => pbkdf2(`pbkdf2-${algorithm}`, algorithm)),
];

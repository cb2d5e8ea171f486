/**
 * Symfony's MessageDigestPasswordHasher, in the form in which Clerk writes it: `sha512_symfony$rounds$salt$hash`, the
 * hash in base64. Salted is `password{salt}`, or the password alone; each further round hashes the previous digest and
 * the salted password. github.com/symfony/password-hasher, Hasher/MessageDigestPasswordHasher.php;
 * clerk.com/docs/reference/backend/user/create-user (`sha512_symfony`)
 */
import { hash } from 'node:crypto';
import { decodeBase64, defineScheme, joined, numberProblem, type Scheme, sameBytes, wholeNumber } from '../scheme.ts';
import { digestWork } from '../work.ts';

const MOST_ROUNDS = 500_000;

interface Parts {
  rounds: number;
  salt: string;
  digest: Buffer;
}

function parse(encoded: string, length: number): Parts | string {
  const [, roundsText, salt, digestText, ...more] = encoded.split('$');
  const rounds = wholeNumber(roundsText);
  const problem = numberProblem('rounds', rounds, 1, MOST_ROUNDS);
  if (problem !== undefined) return problem;
  if (salt === undefined || digestText === undefined || more.length > 0) {
    return 'the fields are not rounds, salt and hash';
  }
  // Symfony refuses such a salt, as it could not tell it from the password.
  if (/[{}]/.test(salt)) return 'the salt contains a brace';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  return digest.length === length ? { rounds, salt, digest } : `the hash is not ${length} bytes`;
}

function symfony(algorithm: string, length: number): Scheme {
  const prefix = `${algorithm}_symfony$`;
  return defineScheme({
    name: `symfony ${algorithm}`,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded, length),
    // The text to hash is longer than one block.
    work: ({ rounds }) => 2 * digestWork(rounds),
    verify({ rounds, salt, digest }, password) {
      const salted = salt === '' ? joined(password) : joined(password, `{${salt}}`);
      let made = hash(algorithm, salted, 'buffer');
      for (let round = 1; round < rounds; round++) made = hash(algorithm, Buffer.concat([made, salted]), 'buffer');
      return sameBytes(made, digest);
    },
  });
}

export const symfonySchemes = [symfony('sha512', 64), symfony('sha256', 32), symfony('sha1', 20)];

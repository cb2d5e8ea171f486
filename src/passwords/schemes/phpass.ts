/**
 * phpass "portable" hashes of WordPress (`$P$`) and phpBB 3 (`$H$`): one character of log2 rounds, 8 of salt, 22 of
 * hash.
 *
 * Drupal 7 uses the same algorithm with SHA-512; drupal7.ts imports it from here.
 */
import { hash } from 'node:crypto';
import { defineScheme, joined, numberProblem, type Secret, sameText } from '../scheme.ts';
import { digestWork } from '../work.ts';
import { ALPHABET, type Digest, encodeCrypt64 } from './crypt3.ts';
import { MOST_READINGS, wordpressReadings, wordpressSeesAll } from './wordpress.ts';

const SALT_AT = 4;
const HASH_AT = 12;
/** MD5 takes half the time of SHA-512. */
const MD5 = 0.5;
const FORM = /^[./0-9A-Za-z]{21}[./01]$/;

export interface PortableParts {
  log2: number;
  salt: string;
  digest: string;
}

/** Splits the part after the three characters of the identifier. @param form the pattern of the hash itself */
export function parsePortable(encoded: string, length: number, form: RegExp): PortableParts | string {
  const log2 = encoded.length > 3 ? ALPHABET.indexOf(encoded.charAt(3)) : -1;
  if (log2 < 0) return 'the character for the rounds is missing or not in the alphabet of crypt(3)';
  const problem = numberProblem('log2 of the rounds', log2, 7, 19);
  if (problem !== undefined) return problem;
  if (encoded.length !== length) return `${length} characters are expected, not ${encoded.length}`;
  const salt = encoded.slice(SALT_AT, HASH_AT);
  const digest = encoded.slice(HASH_AT);
  if (!/^[./0-9A-Za-z]{8}$/.test(salt)) return 'the salt may contain only ./0-9A-Za-z';
  if (!form.test(digest)) return 'the hash is damaged or not in the alphabet of crypt(3)';
  return { log2, salt, digest };
}

/** digest(salt, password), then 2^log2 times digest(digest, password), in crypt(3) base64. */
export function portableHash(algorithm: Digest, { log2, salt }: PortableParts, password: Secret): string {
  let digest = hash(algorithm, joined(salt, password), 'buffer');
  const text = joined(digest, password);
  for (let i = 2 ** log2; i > 0; i--) {
    text.set(digest);
    digest = hash(algorithm, text, 'buffer');
  }
  return encodeCrypt64(digest);
}

export const phpassScheme = defineScheme({
  name: 'phpass',
  matches: (encoded) => encoded.startsWith('$P$') || encoded.startsWith('$H$'),
  parse: (encoded) => parsePortable(encoded, 34, FORM),
  seesAll: wordpressSeesAll,
  work: ({ log2 }) => MOST_READINGS * digestWork(2 ** log2) * MD5,
  verify: (parts, password) =>
    wordpressReadings(password).some((reading) => sameText(portableHash('md5', parts, reading), parts.digest)),
});

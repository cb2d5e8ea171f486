/**
 * sha1-crypt of NetBSD: `$sha1$rounds$salt$hash`. HMAC-SHA-1 with the password as its key, first of
 * `salt$sha1$rounds`, then of its own result. passlib.readthedocs.io, passlib.hash.sha1_crypt.
 */
import { createHmac, hash } from 'node:crypto';
import { defineScheme, joined, numberProblem, type Secret, sameText, wholeNumber } from '../scheme.ts';
import { digestWork } from '../work.ts';
import { encodeCrypt64 } from './crypt3.ts';

const PREFIX = '$sha1$';
const MOST_ROUNDS = 1_000_000;
const LONGEST_SALT = 64;
const FORM = /^[./0-9A-Za-z]{28}$/;
/** An HMAC is two digests of short texts, but less work around them. */
const HMAC = 1.5;
const ORDER = [2, 1, 0, 5, 4, 3, 8, 7, 6, 11, 10, 9, 14, 13, 12, 17, 16, 15, 0, 19, 18];

interface Parts {
  rounds: number;
  salt: string;
  digest: string;
}

function parse(encoded: string): Parts | string {
  const [roundsText, salt, digest, ...more] = encoded.slice(PREFIX.length).split('$');
  const rounds = wholeNumber(roundsText);
  const problem = numberProblem('rounds', rounds, 1, MOST_ROUNDS);
  if (problem !== undefined) return problem;
  if (salt === undefined || digest === undefined || more.length > 0) return 'the fields are not rounds, salt and hash';
  if (Buffer.byteLength(salt) > LONGEST_SALT) return `the salt is longer than ${LONGEST_SALT} bytes`;
  if (!FORM.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { rounds, salt, digest };
}

const [BLOCK, DIGEST] = [64, 20];

/** HMAC (RFC 2104) of a digest, faster than with an object for each round. */
function repeatable(password: Secret): (digest: Buffer) => Buffer {
  const bytes = joined(password);
  const key = bytes.length > BLOCK ? hash('sha1', bytes, 'buffer') : bytes;
  const [inner, outer] = [0x36, 0x5c].map((pad) => {
    const text = Buffer.alloc(BLOCK + DIGEST, pad);
    for (const [at, byte] of key.entries()) text[at] = byte ^ pad;
    return text;
  }) as [Buffer, Buffer];
  return (digest) => {
    inner.set(digest, BLOCK);
    outer.set(hash('sha1', inner, 'buffer'), BLOCK);
    return hash('sha1', outer, 'buffer');
  };
}

function digestOf({ rounds, salt }: Parts, password: Secret): string {
  const hmac = repeatable(password);
  let digest: Buffer = createHmac('sha1', password).update(`${salt}${PREFIX}${rounds}`).digest();
  for (let round = 1; round < rounds; round++) digest = hmac(digest);
  return encodeCrypt64(digest, ORDER);
}

export const sha1CryptScheme = defineScheme({
  name: 'sha1-crypt',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: ({ rounds }) => HMAC * digestWork(rounds),
  verify: (parts, password) => sameText(digestOf(parts, password), parts.digest),
});

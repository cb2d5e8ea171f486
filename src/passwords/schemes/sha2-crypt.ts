/**
 * sha2-crypt, `$5$` and `$6$`, after Drepper, "Unix crypt using SHA-256 and SHA-512" version 0.6; the step numbers
 * below are that document's. `$6$rounds=N$salt$hash`; the default is 5000 rounds.
 */
import { hash } from 'node:crypto';
import { defineScheme, joined, numberProblem, type Scheme, sameText, wholeNumber } from '../scheme.ts';
import { digestWork } from '../work.ts';
import { type Digest, encodeCrypt64, repeatTo, stretch } from './crypt3.ts';

const DEFAULT_ROUNDS = 5000;
const LONGEST_SALT = 16;

interface Parts {
  rounds: number;
  salt: string;
  digest: string;
}

function parse(body: string, form: RegExp): Parts | string {
  const fields = body.split('$');
  const named = fields[0]?.startsWith('rounds=') ? fields.shift() : undefined;
  const rounds = named === undefined ? DEFAULT_ROUNDS : wholeNumber(named.slice('rounds='.length));
  const problem = numberProblem('rounds', rounds, 1000, 1_000_000);
  if (problem !== undefined) return problem;
  const [salt, digest, ...more] = fields;
  if (salt === undefined || digest === undefined || more.length > 0) return 'the fields are not salt and hash';
  // crypt(3) truncates a longer salt and writes the short one, so no crypt(3) made this hash.
  if (Buffer.byteLength(salt) > LONGEST_SALT) return `the salt is longer than ${LONGEST_SALT} bytes`;
  if (!form.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { rounds, salt, digest };
}

function digestOf(algorithm: Digest, password: Buffer, salt: Buffer, rounds: number): Buffer {
  const join = (...parts: Uint8Array[]) => hash(algorithm, Buffer.concat(parts), 'buffer');
  const times = (count: number, bytes: Buffer) => Array<Buffer>(count).fill(bytes);
  const b = join(password, salt, password); // 4 to 8
  const bits: Buffer[] = []; // 11
  for (let rest = password.length; rest > 0; rest >>= 1) bits.push(rest & 1 ? b : password);
  const a = join(password, salt, repeatTo(b, password.length), ...bits); // 1 to 12
  const p = repeatTo(join(...times(password.length, password)), password.length); // 13 to 16
  const s = repeatTo(join(...times(16 + (a[0] ?? 0), salt)), salt.length); // 17 to 20
  return stretch(algorithm, a, { password: p, salt: s, rounds }); // 21
}

/** Step 22: groups of three bytes, each the previous one rotated and incremented; then the remaining bytes. */
function byteOrder(groups: number, turn: 1 | 2, rest: number[]): number[] {
  const order: number[] = [];
  let group: [number, number, number] = [0, groups, 2 * groups];
  for (let i = 0; i < groups; i++) {
    order.push(group[2], group[1], group[0]);
    const [x, y, z] = group;
    group = turn === 1 ? [y + 1, z + 1, x + 1] : [z + 1, x + 1, y + 1];
  }
  return [...order, ...rest];
}

function sha2Crypt(id: string, algorithm: Digest, order: number[], form: RegExp): Scheme {
  const prefix = `$${id}$`;
  return defineScheme({
    name: `sha2-crypt ${prefix}`,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded.slice(prefix.length), form),
    work: ({ rounds }) => digestWork(rounds),
    verify({ rounds, salt, digest }, password) {
      const made = digestOf(algorithm, joined(password), Buffer.from(salt), rounds);
      return sameText(encodeCrypt64(made, order), digest);
    },
  });
}

// The unused bits of a hash's last character are zero: checking them finds damaged hashes early.
export const sha2CryptSchemes = [
  sha2Crypt('5', 'sha256', byteOrder(10, 2, [30, 31]), /^[./0-9A-Za-z]{42}[./0-9A-D]$/),
  sha2Crypt('6', 'sha512', byteOrder(21, 1, [63]), /^[./0-9A-Za-z]{85}[./01]$/),
];

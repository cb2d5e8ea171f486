/**
 * How much processor time a verification takes, in a unit that means the same for every scheme: 1 is bcrypt with cost
 * 16 in JavaScript, about 5 seconds. The native library takes three quarters of that; as it does not exist everywhere,
 * the bounds and estimates are for JavaScript. Measured with `npm run bench -- --only hashes`; a program that
 * needs twice as long for one scheme changes nothing that matters here.
 */

/** A hash that takes more is refused, so that no imported hash can occupy a thread for long. */
const MOST_WORK = 1;

const KIB_OF_PASSES = 2.5 * 2 ** 20;
const LANES_OF_PASSES = 10_000;
const SCRYPT_BYTES = 1.5 * 2 ** 30;
const DES_ROUNDS = 20_000_000;
const YESCRYPT_BYTES = 256 * 2 ** 20;

/** Bytes of the digest, and the rounds of one output block that make 1. */
const PBKDF2: Readonly<Record<string, readonly [bytes: number, rounds: number]>> = {
  sha1: [20, 20_000_000],
  sha224: [28, 20_000_000],
  sha256: [32, 20_000_000],
  sha384: [48, 10_000_000],
  sha512: [64, 10_000_000],
  'sha3-224': [28, 5_000_000],
  'sha3-256': [32, 5_000_000],
  'sha3-384': [48, 5_000_000],
  'sha3-512': [64, 5_000_000],
};

/** Tasks that are remembered: a slow one counts until this many others have followed. */
const REMEMBERED = 32;
/** A larger factor would let a machine that stands still for a moment delay answers for long. */
const MOST_FACTOR = 3;

/** What is wrong with a hash that takes this much work, or undefined. */
export function workProblem(work: number): string | undefined {
  if (work <= MOST_WORK) return undefined;
  const times = work < 10 ? work.toFixed(1) : String(Math.round(work));
  return `verifying it takes ${times} times as long as bcrypt with cost 16; at most 1 is allowed`;
}

/** @param cost log2 of the rounds */
export function bcryptWork(cost: number): number {
  return 2 ** (cost - 16);
}

/** @param m KiB @param t passes @param p lanes divide the memory; with several, each is a thread that starts four times a pass */
export function argon2Work({ m, t, p }: { m: number; t: number; p: number }): number {
  return Math.max((m * t) / KIB_OF_PASSES, p > 1 ? (p * t) / LANES_OF_PASSES : 0);
}

/** @param ln log2 of N */
export function scryptWork({ ln, r, p }: { ln: number; r: number; p: number }): number {
  return (128 * 2 ** ln * r * p) / SCRYPT_BYTES;
}

/** @param bytes length of the key; each block of the digest's length is computed on its own (RFC 8018, section 5.2) */
export function pbkdf2Work(algorithm: string, rounds: number, bytes: number): number {
  const [blockBytes, most] = PBKDF2[algorithm] as readonly [number, number];
  return (rounds * Math.ceil(bytes / blockBytes)) / most;
}

/** For schemes that compute a digest of short texts in a loop. */
export function digestWork(rounds: number): number {
  return rounds / 1_500_000;
}

/** @param times encryptions of a block */
export function desWork(times: number): number {
  return times / DES_ROUNDS;
}

/** Computed here in JavaScript, so it takes longer than in other programs. */
export function yescryptWork({ n, r }: { n: number; r: number }): number {
  return (128 * n * r) / YESCRYPT_BYTES;
}

/** How much longer hashes take in this process than on the machine where the estimates were measured. */
export interface Slowness {
  /** A task has run for `ms`, and `expectedMs` was estimated. */
  took(expectedMs: number, ms: number): void;
  /** The slowest of the latest tasks, as a multiple of its estimate: 1 to 3. */
  factor(): number;
}

export function openSlowness(): Slowness {
  const latest: number[] = [];
  return {
    took(expectedMs, ms) {
      latest.push(ms / expectedMs);
      if (latest.length > REMEMBERED) latest.shift();
    },
    factor: () => Math.min(MOST_FACTOR, Math.max(1, ...latest)),
  };
}

/**
 * Defines a password hash scheme, and has what all schemes share: checks, comparisons, and strict encodings.
 *
 * Guarantee: a scheme verifies only hashes that its own check accepts; a hash outside the bounds is never computed,
 * wherever it comes from.
 */
import { timingSafeEqual } from 'node:crypto';
import { workProblem } from './work.ts';

/** The largest length of a hash in nearly every scheme. */
export const LONGEST = 200;

/**
 * The shortest accepted digest, in bytes: the lower bound of the PHC string format for Argon2. A shorter one would
 * accept too many wrong passwords.
 */
export const SHORTEST_DIGEST = 12;

const LARGEST_SHOWN = 9_999_999_999;

/** The digests that the name of a salted digest or an HMAC may contain, with their lengths in bytes. */
export const DIGESTS = [
  { algorithm: 'sha256', length: 32 },
  { algorithm: 'sha512', length: 64 },
  { algorithm: 'sha1', length: 20 },
  { algorithm: 'md5', length: 16 },
  { algorithm: 'sha384', length: 48 },
  { algorithm: 'sha224', length: 28 },
];

/** What a program hashed: text, as UTF-8, or the bytes of another encoding. */
export type Secret = string | Buffer;

/** One format of password hashes and its verification. Everything is synchronous; call `verify` in a thread. */
export interface Scheme {
  /** The name in messages and statistics, such as `argon2id`. */
  readonly name: string;
  /** Whether the text claims to be of this scheme; it may still be invalid. */
  matches(encoded: string): boolean;
  /** What is wrong with the hash (form, bounds or work), or undefined. Never repeats salt or hash. */
  check(encoded: string): string | undefined;
  /** How long a verification takes (work.ts); 0 for a hash that `check` rejects for its form or bounds. */
  work(encoded: string): number;
  /** Whether the password matches this hash; false for hashes that `check` rejects. May take seconds. */
  verify(encoded: string, password: Secret): boolean;
  /**
   * Whether the whole password counts. If not, the hash stays after a login: the ignored remainder may contain a typo.
   */
  seesAll(password: string, encoded: string): boolean;
  /** The largest length of a hash, in code points. */
  readonly longest: number;
}

/**
 * Builds a scheme from a parser and a verification.
 * @param parse returns the parts of the hash, or a text that says what is wrong with it
 * @param work of a verification, with every reading of the password (work.ts); absent where it is always below 0.01
 */
export function defineScheme<P extends object>(definition: {
  name: string;
  matches: (encoded: string) => boolean;
  parse: (encoded: string) => P | string;
  verify: (parts: P, password: Secret) => boolean;
  work?: (parts: P) => number;
  seesAll?: (password: string, encoded: string) => boolean;
  longest?: number;
}): Scheme {
  const { name, matches, parse, verify, work = () => 0, seesAll = () => true, longest = LONGEST } = definition;
  function checked(encoded: string): P | string {
    const parts = parse(encoded);
    return typeof parts === 'string' ? parts : (workProblem(work(parts)) ?? parts);
  }
  return {
    name,
    matches,
    seesAll,
    longest,
    check(encoded) {
      const parts = checked(encoded);
      return typeof parts === 'string' ? parts : undefined;
    },
    work(encoded) {
      const parts = parse(encoded);
      return typeof parts === 'string' ? 0 : work(parts);
    },
    verify(encoded, password) {
      const parts = checked(encoded);
      return typeof parts !== 'string' && verify(parts, password);
    },
  };
}

/** A decimal number without sign or leading zeros; NaN for anything else. */
export function wholeNumber(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
}

/** What is wrong with a number that must be in [min, max], or undefined. NaN means that the text was not a number. */
export function numberProblem(what: string, value: number, min: number, max: number): string | undefined {
  if (Number.isNaN(value)) return `${what} must be a whole number`;
  if (value >= min && value <= max) return undefined;
  const shown = value > LARGEST_SHOWN ? `over ${LARGEST_SHOWN}` : value;
  return `${what} ${shown} is out of bounds (${min} to ${max})`;
}

/** The texts, as UTF-8, and bytes one after the other. */
export function joined(...parts: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** Compares in constant time: the duration depends only on the lengths. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Like `sameBytes`, for texts. */
export function sameText(a: string, b: string): boolean {
  return sameBytes(Buffer.from(a), Buffer.from(b));
}

/**
 * Decodes base64 (RFC 4648 section 4), padded or not; undefined when the text is not base64. Strict, as Node's own
 * decoder skips unknown characters, which would hide a broken hash.
 * @param adapted also accept `.` for `+`, as in passlib's "adapted base64"
 */
export function decodeBase64(text: string, { adapted = false } = {}): Buffer | undefined {
  const standard = adapted ? text.replaceAll('.', '+') : text;
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(standard)) return undefined;
  const padding = standard.indexOf('=');
  if (padding >= 0 && standard.length % 4 !== 0) return undefined;
  if (padding < 0 && standard.length % 4 === 1) return undefined;
  return Buffer.from(standard, 'base64');
}

/** Base64 without padding, as in the PHC string format. */
export function encodeBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

/**
 * Decodes pairs of hexadecimal digits in either case; undefined for any other text. Strict, as Node's own decoder
 * silently stops at unknown characters.
 */
export function decodeHex(text: string): Buffer | undefined {
  return /^([0-9A-Fa-f]{2})*$/.test(text) ? Buffer.from(text, 'hex') : undefined;
}

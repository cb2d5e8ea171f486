/**
 * What a password hash scheme is, and the few checks that all of them share.
 *
 * Guarantee: a scheme verifies only what its own check accepts; a hash outside its bounds is never computed, wherever
 * it came from.
 */
import { timingSafeEqual } from 'node:crypto';

/** One way of writing and checking a password hash. All of it is synchronous; `verify` belongs in a thread. */
export interface Scheme {
  /** For messages and counts, such as `argon2id`. */
  readonly name: string;
  /** Whether the text claims to be of this scheme; the rest of it may still be wrong. */
  matches(encoded: string): boolean;
  /** What is wrong with it (form or bounds), or undefined. Never repeats salt or hash. */
  check(encoded: string): string | undefined;
  /** Whether the password, as UTF-8, makes this hash; false for what `check` refuses. Takes up to seconds. */
  verify(encoded: string, password: string): boolean;
  /** Whether all of the password counts. If not, the hash stays after a login: the rest may hold a slip of the pen. */
  seesAll(password: string, encoded: string): boolean;
  /** The most characters of a hash, as code points. */
  readonly longest: number;
}

/** The most characters of a hash of nearly every scheme. */
export const LONGEST = 200;

/**
 * Makes a scheme of a parser and a verification.
 * @param parse the parts of the hash, or a text that says what is wrong with it
 */
export function defineScheme<P extends object>(definition: {
  name: string;
  matches: (encoded: string) => boolean;
  parse: (encoded: string) => P | string;
  verify: (parts: P, password: string) => boolean;
  seesAll?: (password: string, encoded: string) => boolean;
  longest?: number;
}): Scheme {
  const { name, matches, parse, verify, seesAll = () => true, longest = LONGEST } = definition;
  return {
    name,
    matches,
    seesAll,
    longest,
    check(encoded) {
      const parts = parse(encoded);
      return typeof parts === 'string' ? parts : undefined;
    },
    verify(encoded, password) {
      const parts = parse(encoded);
      return typeof parts !== 'string' && verify(parts, password);
    },
  };
}

/** A decimal number without sign or leading zeros; NaN for anything else. */
export function wholeNumber(text: string | undefined): number {
  return text !== undefined && /^(0|[1-9]\d*)$/.test(text) ? Number(text) : Number.NaN;
}

const LARGEST_SHOWN = 9_999_999_999;

/** What is wrong with a number that must lie in [min, max], or undefined. NaN stands for what was no number. */
export function numberProblem(what: string, value: number, min: number, max: number): string | undefined {
  if (Number.isNaN(value)) return `${what} must be a whole number`;
  if (value >= min && value <= max) return undefined;
  const shown = value > LARGEST_SHOWN ? `over ${LARGEST_SHOWN}` : value;
  return `${what} ${shown} is out of bounds (${min} to ${max})`;
}

/** Compares in a time that depends on the lengths alone. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** As `sameBytes`, of texts. */
export function sameText(a: string, b: string): boolean {
  return sameBytes(Buffer.from(a), Buffer.from(b));
}

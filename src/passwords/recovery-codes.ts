/**
 * Recovery codes: each takes the place of a second factor once. They are made here in tens, or imported, in clear or as
 * the hashes of another system.
 *
 * Guarantee: what is stored has no code in clear, not even encrypted. A code of ours has 50 bits; one that was imported
 * in clear and could be guessed is refused. Comparing a typed code takes the same time whether or not one fits, for all
 * codes but those with hashes of password schemes.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { hashProblem, workOf } from './registry.ts';
import { decodeBase64, sameBytes, sameText } from './scheme.ts';

/** The purpose that the encrypted list of hashes is bound to. */
export const RECOVERY_PURPOSE = 'recovery codes';

export interface HashedCode {
  hash: string;
  scheme: string;
}

/** A code in clear, or its hash in another system. */
export type RecoveryCode = string | HashedCode;

/**
 * How codes are hashed: `keycloak-sha512` is base64 of an unsalted SHA-512, `mcf` a hash of any scheme of passwords
 * (docs/passwords.md); `muster-sha256` is ours: salt, `$` and the SHA-256 of salt, a zero byte and the code in upper
 * case without blanks and hyphens, both in base64url.
 */
export const RECOVERY_SCHEMES = ['keycloak-sha512', 'mcf', 'muster-sha256'] as const;
const OURS = 'muster-sha256';

/** The codes that a user may bring along. */
export const MOST_RECOVERY_CODES = 30;
/** In UTF-16 units. */
export const LONGEST_RECOVERY_CODE = 100;
const MADE = 10;
/** Letters and digits that nobody confuses: no I, O, 0 or 1. */
const ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const GROUP = 5;

/** A guess hits one of ten codes of 32 bits once in 400 million; tries are counted as well. */
const FEWEST_BITS = 32;
/** bcrypt with cost 14 (work.ts): for one typed code, all hashes of the user are computed. */
const MOST_WORK = 0.25;
/** Lengths of the alphabets that a code in clear may be of, by what occurs in it; its case does not count. */
const ALPHABETS: readonly [form: RegExp, size: number][] = [
  [/^[0-9]+$/, 10],
  [/^[0-9A-F]+$/, 16],
  [/^[A-Z]+$/, 26],
  [/^[0-9A-Z]+$/, 36],
];

/** Ten new codes, to be shown once, and the text to encrypt. */
export function newRecoveryCodes(count: number = MADE): { shown: string[]; text: string } {
  const shown = new Set<string>();
  while (shown.size < count) shown.add(`${group()}-${group()}`);
  return { shown: [...shown], text: storedCodes([...shown]).text };
}

function group(): string {
  return Array.from({ length: GROUP }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

/** What is wrong with imported codes, naming a code by its position only; undefined when they can all be used. */
export function recoveryProblem(codes: readonly RecoveryCode[]): string | undefined {
  if (codes.length > MOST_RECOVERY_CODES) return `must have at most ${MOST_RECOVERY_CODES} codes`;
  for (const [index, code] of codes.entries()) {
    const problem = typeof code === 'string' ? plainProblem(code) : schemeProblem(code);
    if (problem) return `the code at index ${index} ${problem}`;
  }
  const work = codes.reduce((sum, code) => sum + (isMcf(code) ? workOf(code.hash) : 0), 0);
  return work > MOST_WORK ? 'the hashes together take longer to check than bcrypt with cost 14' : undefined;
}

function isMcf(code: RecoveryCode): code is HashedCode {
  return typeof code !== 'string' && code.scheme === 'mcf';
}

function plainProblem(code: string): string | undefined {
  if (code.length > LONGEST_RECOVERY_CODE) return `is longer than ${LONGEST_RECOVERY_CODE} characters`;
  const letters = plainForm(code);
  if (letters === '') return 'is empty';
  const size = ALPHABETS.find(([form]) => form.test(letters))?.[1] ?? 64;
  // A code of one letter again and again is no random one.
  const bits = new Set(letters).size < 3 ? 0 : letters.length * Math.log2(size);
  return bits < FEWEST_BITS
    ? `can be guessed: it must have at least ${FEWEST_BITS} bits, such as 10 digits`
    : undefined;
}

function schemeProblem({ hash, scheme }: HashedCode): string | undefined {
  if (scheme === 'keycloak-sha512') {
    return decodeBase64(hash)?.length === 64 ? undefined : 'must be base64 of 64 bytes, as Keycloak stores it';
  }
  if (scheme === OURS) {
    return /^[\w-]{16,64}\$[\w-]{43}$/.test(hash) ? undefined : 'must be a salt, $ and a SHA-256, as Muster reports it';
  }
  if (scheme !== 'mcf') return `has an unknown scheme: it must be ${RECOVERY_SCHEMES.join(', ')}`;
  const problem = hashProblem(hash);
  return problem && `cannot be checked: ${problem}`;
}

/**
 * The text to encrypt of codes that have no problem, and how many there are. The same code twice is one code, or it
 * could be used twice.
 */
export function storedCodes(codes: readonly RecoveryCode[]): { text: string; left: number } {
  const salt = randomBytes(16).toString('base64url');
  const stored = new Map<string, HashedCode>();
  for (const code of codes) {
    const { hash, scheme } = typeof code === 'string' ? { hash: ownHash(salt, code), scheme: OURS } : code;
    stored.set(`${scheme} ${hash}`, { hash, scheme });
  }
  return { text: JSON.stringify([...stored.values()]), left: stored.size };
}

/** The codes as they can be imported again. @param text the result of `storedCodes` */
export function hashedCodes(text: string): HashedCode[] {
  return JSON.parse(text) as HashedCode[];
}

/**
 * Uses up a typed code: all that it fits, as two hashes of one code with two salts are one code.
 * @param text the result of `storedCodes`
 * @param verify compares with a hash of a password scheme, in a thread
 * @returns the text without the code, and how many are left; undefined if no code fits
 */
export async function withoutCode(
  text: string,
  typed: string,
  verify: (hash: string, plain: string) => Promise<boolean>,
): Promise<{ text: string; left: number } | undefined> {
  if (typed.length > LONGEST_RECOVERY_CODE || plainForm(typed) === '') return undefined;
  const stored = hashedCodes(text);
  const readings = readingsOf(typed);
  const rest: HashedCode[] = [];
  for (const one of stored) {
    if (!(await matches(one, typed, readings, verify))) rest.push(one);
  }
  if (rest.length === stored.length) return undefined;
  return { text: JSON.stringify(rest), left: rest.length };
}

/** Without blanks and hyphens, in upper case: how codes in clear are compared. */
function plainForm(code: string): string {
  return code.replace(/[\s-]/g, '').toUpperCase();
}

/** What another system may have hashed, of what somebody types: with hyphens or without, in either case. */
function readingsOf(typed: string): string[] {
  const trimmed = typed.trim();
  const bare = trimmed.replace(/[\s-]/g, '');
  return [...new Set([bare, bare.toUpperCase(), bare.toLowerCase(), trimmed])];
}

async function matches(
  { hash, scheme }: HashedCode,
  typed: string,
  readings: readonly string[],
  verify: (hash: string, plain: string) => Promise<boolean>,
): Promise<boolean> {
  if (scheme === OURS) return sameText(hash, ownHash(hash.split('$')[0] ?? '', typed));
  if (scheme === 'keycloak-sha512') {
    const expected = decodeBase64(hash) ?? Buffer.alloc(0);
    return readings.map((text) => sameBytes(expected, createHash('sha512').update(text).digest())).includes(true);
  }
  if (scheme !== 'mcf') return false;
  for (const reading of readings) if (await verify(hash, reading)) return true;
  return false;
}

function ownHash(salt: string, code: string): string {
  const digest = createHash('sha256')
    .update(`${salt}\0${plainForm(code)}`)
    .digest('base64url');
  return `${salt}$${digest}`;
}

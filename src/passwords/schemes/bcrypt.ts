/**
 * bcrypt: `$2b$`, two digits of cost, `$`, 22 characters of salt, 31 of hash.
 *
 * `$2a$`, `$2b$` and `$2y$` name the same algorithm, after fixes at different times in different programs; `$2x$` is the
 * one before the fix of crypt_blowfish. Only the
 * first 72 bytes of a password count, as in every bcrypt. The native package `bcrypt` computes it in three quarters of
 * the time that JavaScript takes; bcryptjs does on platforms for which that package has no binary.
 *
 * Guarantee: both libraries give the same bytes for every password, salt and cost. The call is synchronous, so that it
 * runs in the thread of its task, and the limits of `src/passwords/hasher.ts` hold: the package's other functions use libuv's
 * threads.
 */
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import bcryptjs from 'bcryptjs';
import type { Logger } from 'pino';
import { defineScheme, joined, numberProblem, type Scheme, type Secret, sameBytes } from '../scheme.ts';
import { bcryptWork } from '../work.ts';
import { bcryptOfBytes } from './blowfish.ts';

const LENGTH = 60;
const HASH_AT = 29;
const SALT_AT = 7;
const HASH_BYTES = 23;
const SALT_BYTES = 16;

/** bcrypt ignores a password beyond this many bytes of UTF-8. */
const BCRYPT_BYTES = 72;

/** 1 for each character code of bcrypt's base64. */
const IN_ALPHABET = Uint8Array.from({ length: 128 }, (_, code) =>
  /[./A-Za-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** What is used of the native package. */
export interface NativeBcrypt {
  hashSync(password: Secret, setting: string): string;
}

export interface BcryptLibrary {
  name: 'bcrypt' | 'bcryptjs';
  /** Why the native package is not used. */
  problem?: unknown;
  /**
   * The hash as text: `$2b$`, two digits of cost, `$`, 22 characters of salt, 31 of hash.
   * @param salt 22 characters of bcrypt's base64; the last four bits do not count
   */
  hash(password: Secret, cost: number, salt: string): string;
}

export const bcryptScheme: Scheme = defineScheme({
  name: 'bcrypt',
  matches(encoded) {
    const variant = encoded.charCodeAt(2);
    return encoded.startsWith('$2') && encoded[3] === '$' && (variant === 97 || variant === 98 || variant === 121);
  },
  parse,
  work: ({ encoded }) => bcryptWork(bcryptCost(encoded)),
  seesAll: bcryptSeesAll,
  verify({ encoded }, password) {
    // Some old programs set the unused last bits of the salt. Comparing bytes instead of texts accepts their hashes
    // too.
    const made = bcryptLibrary().hash(password, bcryptCost(encoded), encoded.slice(SALT_AT, HASH_AT));
    return sameBytes(bcryptBytes(made), bcryptBytes(encoded));
  },
});

/** What PHP before 5.3.7 and old Linux distributions made, with the fault that blowfish.ts describes. */
export const bcryptXScheme: Scheme = defineScheme({
  name: 'bcrypt $2x$',
  matches: (encoded) => encoded.startsWith('$2x$'),
  parse,
  work: ({ encoded }) => bcryptWork(bcryptCost(encoded)),
  seesAll: bcryptSeesAll,
  verify({ encoded }, password) {
    const cost = bcryptCost(encoded);
    const salt = saltBytes(encoded.slice(SALT_AT, HASH_AT));
    return sameBytes(bcryptOfBytes(joined(password), { cost, salt, signed: true }), bcryptBytes(encoded));
  },
});

function parse(encoded: string): { encoded: string } | string {
  const cost = bcryptCost(encoded);
  if (Number.isNaN(cost)) return 'the cost is not two digits';
  const problem = numberProblem('cost', cost, 4, 16);
  if (problem !== undefined) return problem;
  if (encoded.length !== LENGTH) return `${LENGTH} characters are expected, not ${encoded.length}`;
  if (!bodyFits(encoded)) return 'salt and hash may contain only ./A-Za-z0-9';
  return { encoded };
}

/** A loop, because a regular expression takes three times as long, and every imported bcrypt hash is checked here. */
function bodyFits(encoded: string): boolean {
  for (let i = SALT_AT; i < LENGTH; i++) if (IN_ALPHABET[encoded.charCodeAt(i)] !== 1) return false;
  return true;
}

/** The cost of a bcrypt hash, or NaN. */
export function bcryptCost(encoded: string): number {
  const tens = encoded.charCodeAt(4) - 48;
  const ones = encoded.charCodeAt(5) - 48;
  const digits = tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 && encoded.charCodeAt(6) === 36;
  return digits ? 10 * tens + ones : Number.NaN;
}

/** Whether bcrypt uses the whole password. */
export function bcryptSeesAll(password: string): boolean {
  return Buffer.byteLength(password) <= BCRYPT_BYTES;
}

/** A new hash with a random salt. */
export function makeBcrypt(password: string, cost: number): string {
  return bcryptLibrary().hash(password, cost, bcryptjs.encodeBase64(randomBytes(SALT_BYTES), SALT_BYTES));
}

let library: BcryptLibrary | undefined;

/** The library of this thread; loaded by the first call, as most threads only check the form of hashes. */
export function bcryptLibrary(): BcryptLibrary {
  library ??= openBcrypt();
  return library;
}

/** @param load of the native package; throws where there is no binary for the platform */
export function openBcrypt(load: () => NativeBcrypt = loadNative): BcryptLibrary {
  try {
    const native = load();
    const hash: BcryptLibrary['hash'] = (password, cost, salt) =>
      // The native package would replace a half of a surrogate pair; existing hashes have its bytes.
      typeof password === 'string' && !password.isWellFormed()
        ? bcryptjs.hashSync(password, settingOf(cost, salt))
        : native.hashSync(password, settingOf(cost, salt));
    return { name: 'bcrypt', hash };
  } catch (problem) {
    return {
      name: 'bcryptjs',
      problem,
      hash: (password, cost, salt) =>
        typeof password === 'string'
          ? bcryptjs.hashSync(password, settingOf(cost, salt))
          : settingOf(cost, salt) + textOf(bcryptOfBytes(password, { cost, salt: saltBytes(salt) })),
    };
  }
}

function saltBytes(salt: string): Uint8Array {
  return Uint8Array.from(bcryptjs.decodeBase64(salt, SALT_BYTES));
}

function textOf(bytes: Uint8Array): string {
  return bcryptjs.encodeBase64(bytes, bytes.length);
}

/** `$2b$`, whatever the hash says: the native package does not know `$2y$`, and shortens long passwords for `$2a$`. */
function settingOf(cost: number, salt: string): string {
  return `$2b$${String(cost).padStart(2, '0')}$${salt}`;
}

function loadNative(): NativeBcrypt {
  return createRequire(import.meta.url)('bcrypt');
}

/** Tells operators once, at the start of a process, why its logins take longer. */
export function warnWithoutBinary(logger: Pick<Logger, 'warn'>, { name, problem } = bcryptLibrary()): void {
  if (name === 'bcrypt') return;
  const text = 'bcrypt is computed in JavaScript, which takes a third longer: its native package does not load here';
  logger.warn({ err: problem }, text);
}

/** The bytes behind the salt; the unused last bits of the text do not count. */
export function bcryptBytes(encoded: string): Uint8Array {
  return Uint8Array.from(bcryptjs.decodeBase64(encoded.slice(HASH_AT), HASH_BYTES));
}

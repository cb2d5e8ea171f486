/**
 * Computes bcrypt with the native package `bcrypt`, in three quarters of the time that JavaScript takes; with bcryptjs
 * on platforms for which it has no binary.
 *
 * Guarantee: both give the same bytes for every password, salt and cost. The call is synchronous, so that it runs in
 * the thread of its task, and the limits of `hasher.ts` hold: the package's other functions use libuv's threads.
 */
import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import bcryptjs from 'bcryptjs';
import type { Logger } from 'pino';

const HASH_AT = 29;
const HASH_BYTES = 23;
const SALT_BYTES = 16;

/** What is used of the native package. */
export interface NativeBcrypt {
  hashSync(password: string, setting: string): string;
}

export interface BcryptLibrary {
  name: 'bcrypt' | 'bcryptjs';
  /** Why the native package is not used. */
  problem?: unknown;
  /**
   * The hash as text: `$2b$`, two digits of cost, `$`, 22 characters of salt, 31 of hash.
   * @param salt 22 characters of bcrypt's base64; the last four bits do not count
   */
  hash(password: string, cost: number, salt: string): string;
}

/** @param load of the native package; throws where there is no binary for the platform */
export function openBcrypt(load: () => NativeBcrypt = loadNative): BcryptLibrary {
  try {
    const native = load();
    const hash: BcryptLibrary['hash'] = (password, cost, salt) =>
      // The native package would replace a half of a surrogate pair; existing hashes have its bytes.
      (password.isWellFormed() ? native : bcryptjs).hashSync(password, settingOf(cost, salt));
    return { name: 'bcrypt', hash };
  } catch (problem) {
    return {
      name: 'bcryptjs',
      problem,
      hash: (password, cost, salt) => bcryptjs.hashSync(password, settingOf(cost, salt)),
    };
  }
}

let library: BcryptLibrary | undefined;

/** The library of this thread; loaded by the first call, as most threads only check the form of hashes. */
export function bcryptLibrary(): BcryptLibrary {
  library ??= openBcrypt();
  return library;
}

/** Tells operators once, at the start of a process, why its logins take longer. */
export function warnWithoutBinary(logger: Pick<Logger, 'warn'>, { name, problem } = bcryptLibrary()): void {
  if (name === 'bcrypt') return;
  const text = 'bcrypt is computed in JavaScript, which takes a third longer: its native package does not load here';
  logger.warn({ err: problem }, text);
}

/** A new hash with a random salt. */
export function makeBcrypt(password: string, cost: number): string {
  return bcryptLibrary().hash(password, cost, bcryptjs.encodeBase64(randomBytes(SALT_BYTES), SALT_BYTES));
}

/** The bytes behind the salt; the unused last bits of the text do not count. */
export function bcryptBytes(encoded: string): Uint8Array {
  return Uint8Array.from(bcryptjs.decodeBase64(encoded.slice(HASH_AT), HASH_BYTES));
}

/** `$2b$`, whatever the hash says: the native package does not know `$2y$`, and shortens long passwords for `$2a$`. */
function settingOf(cost: number, salt: string): string {
  return `$2b$${String(cost).padStart(2, '0')}$${salt}`;
}

function loadNative(): NativeBcrypt {
  return createRequire(import.meta.url)('bcrypt');
}

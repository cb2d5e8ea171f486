/**
 * Builds the text form of a hash from the parts that exports hold: digest, salt and rounds, each in its own encoding.
 * Forms: docs/passwords.md.
 *
 * Never throws, and checks nothing but encodings: the service enforces the bounds.
 */
import type { Note } from './person.ts';

/** A hash and the notes about it; no hash when the export holds none. */
export interface HashText {
  hash?: string;
  notes?: Note[];
}

export type Encoding = 'base64' | 'hex' | 'utf8';

const HASH_UNSUPPORTED: Note = {
  id: 'HASH-UNSUPPORTED',
  message:
    'The password hash has a form that cannot be verified here; the service will reject the user and name the scheme.',
};

export const SECOND_FACTOR_LOST: Note = {
  id: 'SECOND-FACTOR-LOST',
  message:
    'The user has a second factor whose secret is not in the export, or which has no counterpart here; it is dropped.',
};

/**
 * The bytes of an encoded text; base64 may use the URL-safe alphabet. Undefined when the text is not valid in the
 * encoding.
 */
export function bytesOf(text: string, encoding: Encoding): Buffer | undefined {
  if (encoding === 'utf8') return Buffer.from(text);
  const isHex = encoding === 'hex';
  const form = isHex ? /^(?:[0-9a-f]{2})*$/i : /^[A-Za-z0-9+/_-]*={0,2}$/;
  return form.test(text) ? Buffer.from(text, encoding) : undefined;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '');
}

/** @param algorithm md5, sha1, sha224, sha256, sha384, sha512 */
export function saltedDigest(
  algorithm: string,
  order: 'prefix' | 'suffix',
  salt: Uint8Array,
  digest: Uint8Array,
): string {
  return `$salted-${algorithm}-${order}$${base64(salt)}$${base64(digest)}`;
}

export function hmacText(algorithm: string, key: Uint8Array, digest: Uint8Array): string {
  return `$hmac-${algorithm}$${base64(key)}$${base64(digest)}`;
}

/** @param algorithm sha1, sha224, sha256, sha384, sha512 */
export function pbkdf2Text(algorithm: string, rounds: number, salt: Uint8Array, digest: Uint8Array): string {
  const name = algorithm === 'sha1' ? 'pbkdf2' : `pbkdf2-${algorithm}`;
  return `$${name}$${rounds}$${base64(salt)}$${base64(digest)}`;
}

/** @param cost log2 of N */
export function scryptText(cost: { ln: number; r: number; p: number }, salt: Uint8Array, digest: Uint8Array): string {
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(digest)}`;
}

/** The words, numbers and hyphens of a scheme's name: `argon2id`, `hmac-sha256-utf16-b64`, `sha-512`. */
const SCHEME_NAME = /^[a-z]+[0-9]*[a-z]*(?:-[a-z0-9]+)*$/;
const LONGEST_NAME = 40;
/** Longest name in a message: the service reads no longer text as a name. */
const LONGEST_SHOWN = 18;

/**
 * A text that holds only the name of a scheme, so that the service rejects this user alone and names the reason.
 * @param name any text; one that is not a scheme's name is not repeated, as it may be part of a hash
 */
export function unsupported(name: string): HashText {
  const tidy = name.toLowerCase().replaceAll('_', '-');
  const isName = tidy.length <= LONGEST_NAME && SCHEME_NAME.test(tidy);
  const shown = isName ? tidy.slice(0, LONGEST_SHOWN).replace(/-$/, '') : 'unknown';
  return { hash: `$${shown}$`, notes: [HASH_UNSUPPORTED] };
}

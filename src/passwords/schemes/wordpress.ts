/**
 * WordPress 6.8 and newer: `$wp$2y$10$…` is bcrypt of base64(HMAC-SHA-384(password, key `wp-sha384`)).
 *
 * WordPress does not hash the password exactly as typed: it trims it and, in all of its own forms, keeps the
 * backslashes that it adds before quotes and backslashes in browser input. So these variants of a password are tried
 * too, also for the older `$P$` hashes. See wp_hash_password() and wp_magic_quotes() in WordPress 6.8.
 */
import { createHmac } from 'node:crypto';
import { trimmed } from '../forms.ts';
import type { Secret } from '../scheme.ts';
import { bcryptScheme } from './bcrypt.ts';
import { wrappedScheme } from './wrapped.ts';

/** The variants of a password that WordPress may have hashed, as typed first, without duplicates. */
export function wordpressReadings(password: Secret): Secret[] {
  // What is replaced is ASCII, so bytes of any encoding are taken one by one.
  if (typeof password !== 'string')
    return wordpressReadings(password.toString('latin1')).map((text) => Buffer.from(text as string, 'latin1'));
  const bare = trimmed(password);
  return [...new Set([password, bare, bare.replace(/['"\\]/g, '\\$&')])];
}

/** Whether trimming leaves the password unchanged. */
export function wordpressSeesAll(password: string): boolean {
  return trimmed(password) === password;
}

/** Of one password. */
export const MOST_READINGS = 3;

const prehashed = (text: Secret) => createHmac('sha384', 'wp-sha384').update(text).digest('base64');

export const wordpressScheme = wrappedScheme({
  name: 'wordpress bcrypt',
  prefix: '$wp',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => wordpressReadings(password).map(prehashed),
  mostReadings: MOST_READINGS,
  seesAll: wordpressSeesAll,
});

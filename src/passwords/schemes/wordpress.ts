/**
 * WordPress 6.8 and newer: `$wp$2y$10$…` is bcrypt of base64(HMAC-SHA-384(password, key `wp-sha384`)).
 *
 * WordPress does not hash the password exactly as typed: it trims it and, in all of its own forms, keeps the
 * backslashes that it adds before quotes and backslashes in browser input. So these variants of a password are tried
 * too, also for the older `$P$` hashes. See wp_hash_password() and wp_magic_quotes() in WordPress 6.8.
 */
import { createHmac } from 'node:crypto';
import { bcryptScheme } from './bcrypt.ts';
import { wrappedScheme } from './wrapped.ts';

/** The characters that PHP's trim() removes. */
const BLANKS = ' \t\n\r\0\x0B';

function trimmed(password: string): string {
  let [start, end] = [0, password.length];
  while (start < end && BLANKS.includes(password.charAt(start))) start++;
  while (end > start && BLANKS.includes(password.charAt(end - 1))) end--;
  return password.slice(start, end);
}

/** The variants of a password that WordPress may have hashed, as typed first, without duplicates. */
export function wordpressReadings(password: string): string[] {
  const bare = trimmed(password);
  return [...new Set([password, bare, bare.replace(/['"\\]/g, '\\$&')])];
}

/** Whether trimming leaves the password unchanged. */
export function wordpressSeesAll(password: string): boolean {
  return trimmed(password) === password;
}

/** Of one password. */
export const MOST_READINGS = 3;

const prehashed = (text: string) => createHmac('sha384', 'wp-sha384').update(text).digest('base64');

export const wordpressScheme = wrappedScheme({
  name: 'wordpress bcrypt',
  prefix: '$wp',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => wordpressReadings(password).map(prehashed),
  mostReadings: MOST_READINGS,
  seesAll: wordpressSeesAll,
});

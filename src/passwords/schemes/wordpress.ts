/**
 * WordPress 6.8 and newer: `$wp$2y$10$…` is bcrypt of base64(HMAC-SHA-384(password, key `wp-sha384`)).
 *
 * What WordPress hashes is not quite what was typed: it cuts blanks off both ends and, in all of its own forms, leaves the
 * backslashes in that it puts before quotes and backslashes of whatever a browser sends. So a password is tried in these
 * readings too, also by the older `$P$` hashes. Made from wp_hash_password() and wp_magic_quotes(), WordPress 6.8.
 */
import { createHmac } from 'node:crypto';
import { bcryptScheme } from './bcrypt.ts';
import { wrappedScheme } from './wrapped.ts';

/** What PHP's trim() takes off. */
const BLANKS = ' \t\n\r\0\x0B';

function trimmed(password: string): string {
  let [start, end] = [0, password.length];
  while (start < end && BLANKS.includes(password.charAt(start))) start++;
  while (end > start && BLANKS.includes(password.charAt(end - 1))) end--;
  return password.slice(start, end);
}

/** What WordPress may have hashed for a password: as typed first, nothing twice. */
export function wordpressReadings(password: string): string[] {
  const bare = trimmed(password);
  return [...new Set([password, bare, bare.replace(/['"\\]/g, '\\$&')])];
}

/** Whether there are no blanks to cut off. */
export function wordpressSeesAll(password: string): boolean {
  return trimmed(password) === password;
}

const prehashed = (text: string) => createHmac('sha384', 'wp-sha384').update(text).digest('base64');

export const wordpressScheme = wrappedScheme({
  name: 'wordpress bcrypt',
  prefix: '$wp',
  inside: [bcryptScheme],
  expected: 'a bcrypt hash',
  readings: (password) => wordpressReadings(password).map(prehashed),
  seesAll: wordpressSeesAll,
});

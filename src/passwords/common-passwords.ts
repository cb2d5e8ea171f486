/**
 * The list of common passwords: 49,233 passwords of published leaks, which attackers try first.
 *
 * `common-passwords.txt` holds them in the form of `nameKey`, one a line, and begins and ends with a line break. It is
 * `passwords.json` of @zxcvbn-ts/language-common 4.1.3; its licence (MIT) is in `common-passwords.LICENSE`.
 */
import { readFileSync } from 'node:fs';
import { nameKey } from '../platform/fields.ts';

/** One string of 390 kB, searched from its start: a set of 49,233 strings takes ten times as much memory. */
let list: string | undefined;

/** Whether the password is on the list, whatever its case and normalization. Takes about 0.1 ms. */
export function isCommonPassword(password: string): boolean {
  list ??= readFileSync(new URL('./common-passwords.txt', import.meta.url), 'latin1');
  return !password.includes('\n') && list.includes(`\n${nameKey(password)}\n`);
}

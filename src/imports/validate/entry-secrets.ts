/**
 * Entries that were invalid from the start, kept to be mended: sealed as a whole, as nobody knows what stands in a field
 * that is not known; and what of them may be shown.
 *
 * Guarantee: no plain password and no secret of a second factor is given back. A good password comes back as a hash made
 * from it; in place of any other secret stands what the import refuses, so that nothing is lost in silence.
 */

import { textProblem } from '../../fields/fields.ts';
import type { Secrets } from '../../secrets.ts';

const ENTRY_SEAL = 'import-entry';
const PASSWORD_MAX = 200;

/** No field of an import takes an object like this: who forgets to mend it is told. */
export const WITHHELD = { withheld: 'Secrets are not given back. Give it again, or remove it.' };

/** Names under which a secret may stand, wherever and however it is written. */
const SECRET_NAME = /pass(?:wor[dt]|wd|phrase|code)|pwd|secret|otp|token/;
/** Of these, what holds none. */
const HARMLESS_NAME = /hash|changerequired|passwordless/;

/** @param entry anything JSON can hold */
export function sealEntry(entry: unknown, secrets: Secrets): string {
  return secrets.seal(JSON.stringify(entry), ENTRY_SEAL);
}

export function unsealEntry(sealed: string, secrets: Secrets): unknown {
  return JSON.parse(secrets.unseal(sealed, ENTRY_SEAL));
}

/**
 * Puts the hash of its password into an entry that has one to be hashed, in place.
 * @returns whether it had
 */
export async function hashPassword(entry: unknown, hash: (plain: string) => Promise<string>): Promise<boolean> {
  const user = isObject(entry) ? entry.user : undefined;
  if (!isObject(user) || user.hashedPassword !== undefined) return false;
  const { password } = user;
  if (typeof password !== 'string' || password === '' || textProblem(password, PASSWORD_MAX)) return false;
  user.hashedPassword = { value: await hash(password) };
  delete user.password;
  return true;
}

/** Takes out what must not be shown, and the second spelling that intake left beside the usual one; in place. */
export function withholdSecrets(value: unknown): void {
  if (Array.isArray(value)) {
    for (const element of value) withholdSecrets(element);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (isSecondSpelling(value, name)) delete value[name];
    else if (isSecret(name) && inner !== null && inner !== '') value[name] = WITHHELD;
    else withholdSecrets(inner);
  }
}

function isSecret(name: string): boolean {
  const letters = name.toLowerCase().replace(/[^a-z]/g, '');
  return SECRET_NAME.test(letters) && !HARMLESS_NAME.test(letters);
}

function isSecondSpelling(object: Record<string, unknown>, name: string): boolean {
  if (!name.includes('_')) return false;
  const usual = name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
  return (
    usual !== name && Object.hasOwn(object, usual) && JSON.stringify(object[usual]) === JSON.stringify(object[name])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

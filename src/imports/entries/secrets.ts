/**
 * Stores invalid entries, so that the report can return them to be corrected, and removes their secrets before it does.
 * Each entry is encrypted as a whole, as a field with an unknown name may hold anything.
 *
 * Guarantee: no plain password and no secret of a second factor is returned. A valid password is returned as a hash.
 * Any other secret is replaced by an object that an import refuses, so that no secret is lost unnoticed.
 */
import type { Secrets } from '../../platform/encryption.ts';
import { textProblem } from '../../platform/fields.ts';
import { camelCase } from '../../platform/text/names.ts';
import { isSecretName } from '../../sources/values.ts';
import { ENTRY_PURPOSE } from './item.ts';

const PASSWORD_MAX = 200;

/** No field of an import accepts such an object, so an import fails a user whose secret was not entered again. */
export const WITHHELD = { withheld: 'Secrets are not returned. Enter the value again, or remove this field.' };

/** Names of an entry's fields that sound like a secret but hold none. */
const HARMLESS_NAME = /hash|changerequired|passwordless|passwordsource|otpemail|otpsms/;

/** @param entry anything JSON can hold */
export function sealEntry(entry: unknown, secrets: Secrets): string {
  return secrets.seal(JSON.stringify(entry), ENTRY_PURPOSE);
}

export function unsealEntry(sealed: string, secrets: Secrets): unknown {
  return JSON.parse(secrets.unseal(sealed, ENTRY_PURPOSE));
}

/**
 * Replaces the plain password of an entry by its hash, in place.
 * @returns whether there was a valid password to hash
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

/**
 * Replaces secrets by WITHHELD and removes the snake_case copies of fields that intake renamed to camelCase; in place.
 */
export function withholdSecrets(value: unknown): void {
  if (Array.isArray(value)) {
    for (const element of value) withholdSecrets(element);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, inner] of Object.entries(value)) {
    if (isSecondSpelling(value, name)) delete value[name];
    else if (mayHoldSecret(name) && inner !== null && inner !== '') value[name] = WITHHELD;
    else withholdSecrets(inner);
  }
}

/** Removes the snake_case copies alone; in place. */
export function dropSecondSpellings(value: unknown): void {
  if (Array.isArray(value)) {
    for (const element of value) dropSecondSpellings(element);
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      if (isSecondSpelling(value, name)) delete value[name];
      else dropSecondSpellings(inner);
    }
  }
}

/** Whether a field of an entry, or metadata, with this name may hold a secret, in any spelling and at any depth. */
export function mayHoldSecret(name: string): boolean {
  return isSecretName(name) && !HARMLESS_NAME.test(name.toLowerCase().replace(/[^a-z]/g, ''));
}

function isSecondSpelling(object: Record<string, unknown>, name: string): boolean {
  if (!name.includes('_')) return false;
  const camel = camelCase(name);
  return (
    camel !== name && Object.hasOwn(object, camel) && JSON.stringify(object[camel]) === JSON.stringify(object[name])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

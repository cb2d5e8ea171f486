/** Names of fields, in error messages and in the two spellings of input; tables by name; plain IP addresses. */
import { isIP } from 'node:net';

/** The value of a key of the table itself: `constructor` and other names that every object has are none. */
export function ownValue<T>(table: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** `queries[0].inUserIdsQuery.userIds` */
export function fieldPath(path: readonly PropertyKey[]): string {
  let out = '';
  for (const part of path)
    out += typeof part === 'number' ? `[${part}]` : out === '' ? String(part) : `.${String(part)}`;
  return out;
}

/** Characters of a key in a body; names of fields are shorter. */
export const LONGEST_KEY = 200;

/** `user_name` becomes `userName`; leading underscores stay, and so does a key that is too long for a name. */
export function camelCase(key: string): string {
  if (key.length > LONGEST_KEY) return key;
  return key.replace(/(?<=[A-Za-z0-9])_+([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The address in the form that PostgreSQL stores: IPv4 without the prefix of IPv6, and no zone. Undefined if a trusted
 * proxy sent something else.
 */
export function plainAddress(ip: string | undefined): string | undefined {
  const address = ip?.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return address && isIP(address) ? address : undefined;
}

/**
 * The password hash in a record of somebody's own file: in the column of hashes, in a column of passwords that holds one, or
 * where else in the record it clearly stands.
 */
import { hashProblem } from '../../passwords/registry.ts';
import { namedHash } from '../hash-like.ts';
import { passwordHashIn, placeOf } from '../hash-search.ts';
import type { Fields } from '../source.ts';
import { textAt } from '../values.ts';
import { type Mapping, valueAt } from './mapping.ts';

export interface MappedHash {
  hash?: string | undefined;
  /** Where it was found, when no column was taken for it: `password.value`. */
  place?: string;
  /** There is a password, but nothing that is clearly a hash of it. */
  isUnsaid?: boolean;
}

/** @param isGiven the caller named the column of hashes, so nothing else is one */
export function mappedHash(record: Fields, { columns }: Mapping, isGiven: boolean): MappedHash {
  const values = { hash: valueAt(record, columns.hash), password: valueAt(record, columns.password) };
  const hash = textAt(values, 'hash');
  const password = textAt(values, 'password');
  if (hash !== undefined) return { hash };
  if (!isGiven && password !== undefined && isWholeHash(password)) return { hash: password };
  const found = isGiven ? undefined : passwordHashIn(record);
  if (found) return { hash: found.text, place: placeOf(found) };
  const isObject = typeof values.password === 'object' && values.password !== null;
  return { isUnsaid: password !== undefined || isObject };
}

/** Nobody's password is a whole hash of a scheme that begins with its name, such as `$2b$10$…`. */
function isWholeHash(text: string): boolean {
  return namedHash(text) !== undefined && hashProblem(text) === undefined;
}

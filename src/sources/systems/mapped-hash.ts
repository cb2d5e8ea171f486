/**
 * Finds the password hash in a record of a custom file: in the column of hashes, in a column of passwords, or elsewhere
 * in the record if it is clearly the password's.
 */
import { hashProblem } from '../../passwords/registry.ts';
import { namedHash } from '../hash-like.ts';
import { passwordHashIn, placeOf } from '../hash-search.ts';
import type { Fields } from '../source.ts';
import { textAt } from '../values.ts';
import { type Mapping, valueAt } from './mapping.ts';

export interface MappedHash {
  hash?: string | undefined;
  /** Where it was found, if not in a mapped column: `password.value`. */
  place?: string;
  /** There is a password, but no clear hash of it. */
  isUnsaid?: boolean;
}

/** @param isGiven the caller named the column of hashes, so no other place is searched */
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

/** A complete hash that begins with its scheme's name, such as `$2b$10$…`, is never a plain password. */
function isWholeHash(text: string): boolean {
  return namedHash(text) !== undefined && hashProblem(text) === undefined;
}

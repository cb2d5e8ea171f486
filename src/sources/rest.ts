/** The fields of a record that have no counterpart here and become metadata. Secrets and empty values are left out. */
import { CONTEXT } from './read/json.ts';
import type { Fields } from './source.ts';
import { isSecretName } from './systems/users-table.ts';

/** @param names separated by blanks or line ends */
export function fieldNames(names: string): ReadonlySet<string> {
  return new Set(names.split(/\s+/));
}

/** @param known fields that the source itself reads or drops */
export function restOf(record: Fields, known: ReadonlySet<string>): Fields {
  const isKept = ([name, value]: [string, unknown]) =>
    name !== CONTEXT && !known.has(name) && !isSecretName(name) && !isEmpty(value);
  return Object.fromEntries(Object.entries(record).filter(isKept));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

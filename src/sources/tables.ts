/**
 * phpMyAdmin's JSON exports: a list of a header, a database and its tables, each with its name and its rows.
 * https://docs.phpmyadmin.net/en/latest/import_export.html#json
 */

import { CONTEXT } from './read/json.ts';
import type { Fields, JsonPath, Source } from './source.ts';
import { mappingFor } from './systems/mapping.ts';
import { objectAt } from './values.ts';

/** Where the rows are. */
export const ROWS: JsonPath = ['*', 'data', '*'];

const BEGINNING = /^\s*\[\s*\{\s*"type"\s*:\s*"(?:header|database|table)"/;

/** @param head the beginning of the file */
export function isDumpOfTables(head: string): boolean {
  return BEGINNING.test(head);
}

/**
 * Whether it is a row of another table than the users': the source does not recognize it, and it has no email address.
 */
export function isOfOtherTable(record: Fields, source: Source): boolean {
  if (objectAt(record, CONTEXT).type !== 'table' || source.recognizes(record, 'json') > 0) return false;
  return mappingFor(record, { columns: {}, metadata: {} }).columns.email === undefined;
}

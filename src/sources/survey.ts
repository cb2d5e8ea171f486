/**
 * The first reading of a file of one's own. What no single record says: whether a column that the caller named exists,
 * whether a `state` is a part of the address, and whether a column of plain passwords holds a mask or one password for
 * all.
 */
import { isMask } from './entry.ts';
import type { GivenMapping } from './mapping.ts';
import { withoutNullWords } from './null-words.ts';
import { UsageError } from './read/records.ts';
import { openRegionChecks } from './regions.ts';
import type { Convert, Fields, Survey } from './source.ts';
import { valueAt } from './values.ts';

const METADATA = 'metadata.';
/** Columns that a message names. */
const MOST_NAMED = 30;

/** @param makeConverter takes columns that hold regions, although they are called like a state of the user */
export function surveyOf(
  given: GivenMapping,
  makeConverter: (given: GivenMapping, regions: readonly string[]) => Convert,
): Survey {
  const missing = new Map(namedColumns(given));
  const columns = new Set<string>();
  const regions = openRegionChecks();
  const passwords = openPasswordCheck(given.columns.password || undefined);
  return {
    see(record) {
      for (const column of missing.keys()) if (isThere(record, column)) missing.delete(column);
      if (missing.size > 0 && columns.size < MOST_NAMED) for (const name of Object.keys(record)) columns.add(name);
      const valued = withoutNullWords(record);
      if (given.columns.state === undefined) regions.see(valued);
      passwords.see(valued);
    },
    converter() {
      const [first] = missing;
      if (first && columns.size > 0) throw noColumn(first, columns);
      passwords.require();
      return makeConverter(given, regions.found());
    },
  };
}

/** The columns that the caller named, with their fields. */
function namedColumns({ columns, metadata }: GivenMapping): [column: string, field: string][] {
  const fields = Object.entries(columns).map(([field, column]): [string, string] => [column, field]);
  const keys = Object.entries(metadata).map(([key, column]): [string, string] => [column, METADATA + key]);
  return [...fields, ...keys].filter(([column]) => column !== '');
}

function isThere(record: Fields, column: string): boolean {
  return Object.hasOwn(record, column) || valueAt(record, column) !== undefined;
}

function noColumn([column, field]: [string, string], columns: ReadonlySet<string>): UsageError {
  const named = [...columns].slice(0, MOST_NAMED).join(', ');
  return new UsageError(
    `--map ${field}=${column}: no record has "${column}". The columns are ${named}; a path such as emails.0.address leads into objects and lists.`,
  );
}

/** Refuses a column of plain passwords that holds a mask, or the same password for everybody. */
function openPasswordCheck(column: string | undefined): { see(record: Fields): void; require(): void } {
  let first: string | undefined;
  let count = 0;
  let isSame = true;
  let masks = 0;
  return {
    see(record) {
      const value = column === undefined ? undefined : valueAt(record, column);
      if (typeof value !== 'string' || value === '') return;
      count++;
      first ??= value;
      isSame &&= value === first;
      if (isMask(value)) masks++;
    },
    require() {
      if (masks > 0) {
        throw new UsageError(
          `--map password=${column}: ${masks} of ${count} values are a mask such as ****, which is nobody's password. ${meant(column)}`,
        );
      }
      if (count > 1 && isSame) {
        throw new UsageError(
          `--map password=${column}: all ${count} users have the same password, so each could sign in as any other. ${meant(column)}`,
        );
      }
    },
  };
}

function meant(column: string | undefined): string {
  return `Leave it out, so that every user gets a mail to set a password; if it is meant, use --map initialPassword=${column}, which each user must change at the first sign-in.`;
}

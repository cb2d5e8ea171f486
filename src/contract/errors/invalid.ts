/** The error of invalid fields, which many operations have under an id of their own. */
import type { KnownError } from '../../platform/errors.ts';

/** What to do about invalid fields. */
export const FIELDS = 'Correct the fields that the error names.';

/** @param what holds the fields, such as `body` */
export function invalid(what: string) {
  return {
    status: 'INVALID_ARGUMENT',
    meaning: `A field of the ${what} is missing or invalid. The error names each, and what it must be.`,
    remedy: FIELDS,
  } as const satisfies KnownError;
}

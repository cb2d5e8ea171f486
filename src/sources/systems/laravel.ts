import type { Person, Skipped } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { textAt } from '../values.ts';
import { filledCells, isDated, otherColumns, usualColumns } from './users-table.ts';

/**
 * Laravel: the `users` table of its starter kits, as Eloquent's JSON, NDJSON or CSV.
 * https://laravel.com/docs/authentication, https://laravel.com/docs/hashing,
 * https://laravel.com/docs/eloquent-serialization
 *
 * Secrets of second factors (Fortify) are encrypted with the application's key and are not imported.
 */

const KNOWN: ReadonlySet<string> = new Set([
  'email_verified_at',
  'password',
  'remember_token',
  'two_factor_secret',
  'two_factor_recovery_codes',
  'two_factor_confirmed_at',
]);

export const laravel: Source = {
  name: 'laravel',
  title: 'Laravel',
  formats: ['json', 'ndjson', 'csv'],
  recognizes,
  converter: () => convert,
};

function recognizes(record: Fields): number {
  const has = (name: string) => Object.hasOwn(record, name);
  if (!has('email') || has('encrypted_password')) return 0;
  if (has('two_factor_recovery_codes') || (has('remember_token') && has('email_verified_at'))) return 0.95;
  if (has('email_verified_at')) return has('password') || has('updated_at') ? 0.8 : 0.5;
  return has('remember_token') && has('password') ? 0.8 : 0;
}

function convert(record: Fields): Person | Skipped {
  const row = filledCells(record);
  if (isDated(row, 'deleted_at')) return { skip: 'The user is deleted (deleted_at).' };
  return {
    ...usualColumns(row),
    emailVerified: Object.hasOwn(record, 'email_verified_at') ? isDated(row, 'email_verified_at') : undefined,
    hash: textAt(row, 'password'),
    metadata: otherColumns(row, KNOWN),
    notes: hasSecondFactor(record, row) ? [SECOND_FACTOR_LOST] : [],
  };
}

/** An unconfirmed secret is not in use. */
function hasSecondFactor(record: Fields, row: Fields): boolean {
  const isConfirmed = !Object.hasOwn(record, 'two_factor_confirmed_at') || isDated(row, 'two_factor_confirmed_at');
  return Object.hasOwn(row, 'two_factor_secret') && isConfirmed;
}

/**
 * Laravel: the `users` table of its starter kits, as Eloquent's JSON, NDJSON or CSV.
 * https://laravel.com/docs/authentication, https://laravel.com/docs/hashing,
 * https://laravel.com/docs/eloquent-serialization
 *
 * Secrets of second factors (Fortify) are encrypted with the application's key and are not imported.
 */
import type { Person } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields } from '../source.ts';
import { type Around, isDated, tableSource, verifiedOn } from './table.ts';

export const laravel = tableSource({
  name: 'laravel',
  title: 'Laravel',
  hasUsualColumns: true,
  recognizes,
  columns: { emailVerified: verifiedOn('email_verified_at'), hash: 'password' },
  parts: [factorOf],
  dropped: 'email_verified_at remember_token two_factor_secret two_factor_recovery_codes two_factor_confirmed_at',
});

function recognizes(record: Fields): number {
  const has = (name: string) => Object.hasOwn(record, name);
  if (!has('email') || has('encrypted_password')) return 0;
  if (has('two_factor_recovery_codes') || (has('remember_token') && has('email_verified_at'))) return 0.95;
  if (has('email_verified_at')) return has('password') || has('updated_at') ? 0.8 : 0.5;
  return has('remember_token') && has('password') ? 0.8 : 0;
}

/** An unconfirmed secret is not in use. */
function factorOf(row: Fields, { record }: Around): Partial<Person> {
  const isConfirmed = !Object.hasOwn(record, 'two_factor_confirmed_at') || isDated(row, 'two_factor_confirmed_at');
  return { notes: Object.hasOwn(row, 'two_factor_secret') && isConfirmed ? [SECOND_FACTOR_LOST] : [] };
}

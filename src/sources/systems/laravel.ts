/**
 * Laravel: the `users` table of its starter kits, as Eloquent's JSON, NDJSON or CSV.
 * https://laravel.com/docs/authentication, https://laravel.com/docs/hashing,
 * https://laravel.com/docs/eloquent-serialization
 *
 * Secrets of second factors (Fortify) are encrypted with the application's key and are not imported.
 * Joined to a user: `connected_accounts` of Socialstream, `passkeys` of Spatie's package or of another one.
 *
 * Trap: many applications make up a password for a user who signs up by a provider, as the column must have one.
 */
import type { Person } from '../entry.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, RECOVERY_CODES_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { Fields } from '../source.ts';
import { firstText, listAt, textAt } from '../values.ts';
import { type Around, isDated, tableSource, verifiedOn } from './table.ts';

export const laravel = tableSource({
  name: 'laravel',
  title: 'Laravel',
  hasUsualColumns: true,
  missing: [
    {
      id: 'LARAVEL-LINKS',
      what: 'links',
      message: 'The table users has no accounts at providers, which applications keep in a table of their own.',
      remedy: 'Join that table as connected_accounts, with provider and provider_id (docs/sources/laravel.md).',
      isIn: (record) => hasField('connected_accounts', 'provider')(record) || Object.keys(record).some(isProviderId),
    },
    {
      id: 'LARAVEL-PASSKEYS',
      what: 'passkey',
      message: 'The table users does not say who has passkeys, which packages keep in a table of their own.',
      remedy: 'Join that table as passkeys (docs/sources/laravel.md).',
      isIn: hasField('passkeys'),
    },
  ],
  recognizes,
  columns: { emailVerified: verifiedOn('email_verified_at'), hash: 'password' },
  parts: [factorOf],
  links: (row, { usual }) => [...(usual.links ?? []), ...listAt(row, 'connected_accounts').flatMap(linkOf)],
  signIn: (row, { hash, links = [] }) =>
    oldSignInOf(
      { password: hash !== undefined, links, passkey: listAt(row, 'passkeys').length > 0 },
      hash !== undefined && links.length > 0 ? 'perhaps' : undefined,
    ),
  dropped: `email_verified_at remember_token two_factor_secret two_factor_recovery_codes two_factor_confirmed_at
    connected_accounts passkeys`,
});

/** Such as `google_id`. */
function isProviderId(column: string): boolean {
  return /^(?:apple|facebook|github|gitlab|google|linkedin|microsoft|twitter)_id$/.test(column);
}

function linkOf(account: Fields) {
  const provider = textAt(account, 'provider');
  const externalUserId = firstText(account, ['provider_id', 'provider_user_id']);
  return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
}

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
  const has = (column: string) => isConfirmed && Object.hasOwn(row, column);
  return {
    notes: [
      ...(has('two_factor_secret') ? [SECOND_FACTOR_LOST] : []),
      ...(has('two_factor_secret') && has('two_factor_recovery_codes') ? [RECOVERY_CODES_LOST] : []),
      ...(listAt(row, 'passkeys').length > 0 ? [PASSKEY_LOST] : []),
    ],
  };
}

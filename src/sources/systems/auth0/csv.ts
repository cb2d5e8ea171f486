/**
 * Converts rows of Auth0's CSV exports back to users. Columns have the paths of attributes, or titles as in Auth0's
 * dashboard (`Email Verified`) as names. Every text begins with an apostrophe, which protects it from spreadsheets.
 *
 * Guarantee: a user from JSON stays unchanged.
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-exports#supported-file-formats
 */
import type { Fields } from '../../source.ts';

/** Auth0's default column titles, for exports without chosen names. */
const TITLES: Readonly<Record<string, string>> = {
  Id: 'user_id',
  'User Id': 'user_id',
  'Given Name': 'given_name',
  'Family Name': 'family_name',
  Nickname: 'nickname',
  Name: 'name',
  Username: 'username',
  Email: 'email',
  'Email Verified': 'email_verified',
  'Phone Number': 'phone_number',
  'Phone Verified': 'phone_verified',
  Picture: 'picture',
  Blocked: 'blocked',
  Connection: 'identities[0].connection',
  'Created At': 'created_at',
  'Updated At': 'updated_at',
  'Last Login': 'last_login',
  'Last IP': 'last_ip',
  'Logins Count': 'logins_count',
};

/** `user_metadata.country`, `identities[0].provider`. */
const PATH = /^(app_metadata|user_metadata|identities\[\d+\])\.(.+)$/;

export function asUser(record: Fields): Fields {
  if (!Object.values(record).every((value) => typeof value === 'string')) return record;
  const entries = Object.entries(isMarked(record) ? unmarked(record) : record);
  const named = entries.map(([column, value]) => ({ name: nameOf(column), value }));
  const plain = named.filter(({ name }) => !PATH.test(name)).map(({ name, value }) => [name, value]);
  return { ...Object.fromEntries(plain), ...nested(named) };
}

function nameOf(column: string): string {
  return Object.hasOwn(TITLES, column) ? (TITLES[column] as string) : column;
}

/** An id never begins with an apostrophe, an address hardly ever. */
function isMarked(record: Fields): boolean {
  const first = record.user_id ?? record.Id ?? record.email ?? record.Email;
  return typeof first === 'string' && first.startsWith("'");
}

function unmarked(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value).replace(/^'/, '')]));
}

/** Metadata and identities whose parts have columns of their own. */
function nested(columns: readonly { name: string; value: unknown }[]): Fields {
  const parts: Record<string, [string, unknown][]> = {};
  for (const { name, value } of columns) {
    const [, around, inner] = PATH.exec(name) ?? [];
    if (around === undefined || inner === undefined || value === '') continue;
    parts[around] = [...(parts[around] ?? []), [inner, value]];
  }
  const objects = Object.entries(parts).map(([around, inside]) => [around, Object.fromEntries(inside)] as const);
  const identities = objects.filter(([around]) => around.startsWith('identities')).map(([, identity]) => identity);
  const metadata = objects.filter(([around]) => !around.startsWith('identities'));
  return { ...Object.fromEntries(metadata), ...(identities.length > 0 ? { identities } : {}) };
}

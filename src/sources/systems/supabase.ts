/**
 * Supabase Auth (GoTrue): rows of its table `auth.users` as CSV or JSON, and users as its admin API lists them, without
 * hashes. Databases write objects as JSON texts, booleans as `false` or `f`, and absent values as an empty text or
 * `null`.
 *
 * Guarantee: nothing that an application wrote is lost. Data that does not become a field goes into the metadata.
 * https://supabase.com/docs/guides/auth/users, …/managing-user-data, …/identities
 * https://github.com/supabase/auth (internal/models)
 */
import { readTotpSecret } from '../../passwords/totp-secret.ts';
import type { Note, Person, ProviderLink, Skipped } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { ExportFormat, Fields } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, genderOf, jsonAt, listAt, parseJson, textAt } from '../values.ts';

/** Columns that only this table has. */
const OWN_COLUMNS = [
  'raw_app_meta_data',
  'raw_user_meta_data',
  'email_confirmed_at',
  'is_sso_user',
  'phone_confirmed_at',
];
const HASH = 'encrypted_password';

export const supabase: ExportFormat = {
  name: 'supabase',
  title: 'Supabase Auth',
  formats: ['csv', 'json', 'ndjson'],
  jsonPaths: [['users', '*']],
  recognizes(record) {
    if (textAt(record, 'id') === undefined) return 0;
    if ('encrypted_password' in record) return OWN_COLUMNS.some((name) => name in record) ? 1 : 0;
    if ('raw_app_meta_data' in record || 'raw_user_meta_data' in record) return 0.9;
    return 'aud' in record && 'app_metadata' in record && 'user_metadata' in record ? 1 : 0;
  },
  converter() {
    const now = Date.now();
    // Some programs leave out fields without a value, so one record alone does not tell.
    let hasHashes = false;
    return (record) => {
      hasHashes ||= HASH in record;
      return convert(withoutNulls(record), { now, hasHashes });
    };
  },
};

/** Some programs write `null` and `\N` for absent values. */
function withoutNulls(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, isNull(value) ? '' : value]));
}

function isNull(value: unknown): boolean {
  return value === 'null' || value === 'NULL' || value === '\\N';
}

interface Export {
  now: number;
  /** An earlier record had a field for the hash. */
  hasHashes: boolean;
}

const STATES = { inactiveUntil: ['banned_until'] };

function convert(record: Fields, { now, hasHashes }: Export): Person | Skipped {
  if (textAt(record, 'deleted_at') !== undefined) return { skip: 'A deleted user.' };
  if (boolAt(record, 'is_anonymous') === true) return { skip: 'An anonymous user.' };
  const read = readSystemState(record, STATES, now);
  if (read.skip !== undefined) return { skip: read.skip };
  const { notes } = read;
  return {
    userId: textAt(record, 'id'),
    email: textAt(record, 'email'),
    emailVerified: isEmailVerified(record),
    ...profileOf(record),
    ...phoneOf(record),
    state: read.state ?? 'active',
    hash: hashOf(record, hasHashes, notes),
    totp: totpOf(record, notes),
    metadata: {
      user_metadata: userMetadataOf(record),
      app_metadata: appMetadataOf(record),
      role: textAt(record, 'role') === 'authenticated' ? undefined : textAt(record, 'role'),
      is_sso_user: boolAt(record, 'is_sso_user') === true ? true : undefined,
    },
    links: linksOf(record, notes),
    notes,
  };
}

/**
 * By `email_confirmed_at` alone: `confirmed_at` is the earlier of it and the phone's. The admin API omits empty fields.
 */
function isEmailVerified(record: Fields): boolean | undefined {
  if ('email_confirmed_at' in record) return textAt(record, 'email_confirmed_at') !== undefined;
  if ('confirmed_at' in record && textAt(record, 'phone') === undefined)
    return textAt(record, 'confirmed_at') !== undefined;
  return 'app_metadata' in record ? false : undefined;
}

const NO_HASHES: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message:
    'The record has no field encrypted_password, which the admin API never returns; a user with a password must set a new one.',
};

const ENCRYPTED: Note = {
  id: 'HASH-ENCRYPTED',
  message: 'The hash is encrypted with a database key (GOTRUE_SECURITY_DB_ENCRYPTION) and cannot be read.',
};

/** The hash, unchanged: GoTrue writes bcrypt, argon2 and `$fbscrypt$`, and the service judges any other text. */
function hashOf(record: Fields, hasHashes: boolean, notes: Note[]): string | undefined {
  const hash = textAt(record, HASH);
  if (hash === undefined) {
    if (!hasHashes) notes.push(NO_HASHES);
    return undefined;
  }
  if (!hash.startsWith('{') || parseJson(hash) === undefined) return hash;
  notes.push(ENCRYPTED);
  return '$gotrue-encrypted$';
}

const FIRST_NAMES = ['first_name', 'given_name', 'firstName', 'givenName'];
const LAST_NAMES = ['last_name', 'family_name', 'lastName', 'familyName'];
const DISPLAY_NAMES = ['full_name', 'display_name', 'name', 'displayName', 'fullName'];
const NICK_NAMES = ['nickname', 'nickName'];
const LANGUAGES = ['locale', 'language'];
const PROFILE = [FIRST_NAMES, LAST_NAMES, DISPLAY_NAMES, NICK_NAMES, LANGUAGES].flat();

function userMetadataOf(record: Fields): Fields | undefined {
  const profile: readonly unknown[] = Object.values(profileOf(record));
  const data = userDataOf(record);
  return rest(data, (name) => {
    if (name === 'email' || name === 'phone') return textAt(data, name) === textAt(record, name);
    return PROFILE.includes(name) && profile.includes(textAt(data, name));
  });
}

/** The user's own data: `raw_user_meta_data` in the table, `user_metadata` in the API. */
function userDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'user_metadata'), ...jsonAt(record, 'raw_user_meta_data') };
}

/** Written by GoTrue itself. */
const BOOKKEEPING = ['sub', 'iss', 'provider_id', 'email_verified', 'phone_verified', 'provider', 'providers'];

function rest(data: Fields, isSaid: (name: string) => boolean): Fields | undefined {
  const left = Object.keys(data).filter((name) => !BOOKKEEPING.includes(name) && data[name] !== null && !isSaid(name));
  return left.length > 0 ? Object.fromEntries(left.map((name) => [name, data[name]])) : undefined;
}

function appMetadataOf(record: Fields): Fields | undefined {
  return rest(appDataOf(record), () => false);
}

/** The application's data, such as roles: `raw_app_meta_data`, `app_metadata`. */
function appDataOf(record: Fields): Fields {
  return { ...jsonAt(record, 'app_metadata'), ...jsonAt(record, 'raw_app_meta_data') };
}

/** GoTrue stores numbers without their plus sign. */
function phoneOf(record: Fields): Pick<Person, 'phone' | 'phoneVerified'> {
  const phone = textAt(record, 'phone');
  if (phone === undefined) return {};
  const isDigits = /^[1-9][0-9]{6,14}$/.test(phone);
  return { phone: isDigits ? `+${phone}` : phone, phoneVerified: textAt(record, 'phone_confirmed_at') !== undefined };
}

type Profile = Pick<Person, 'firstName' | 'lastName' | 'displayName' | 'nickName' | 'language' | 'gender'>;

/** Columns that were joined to the table take precedence over the user's own data. */
function profileOf(record: Fields): Profile {
  const data = userDataOf(record);
  const anyOf = (names: readonly string[]) =>
    [record, data].flatMap((fields) => names.map((name) => textAt(fields, name))).find((text) => text !== undefined);
  return {
    firstName: anyOf(FIRST_NAMES),
    lastName: anyOf(LAST_NAMES),
    displayName: anyOf(DISPLAY_NAMES),
    nickName: anyOf(NICK_NAMES),
    language: anyOf(LANGUAGES),
    gender: genderOf(textAt(data, 'gender')),
  };
}

const LINKS_DROPPED: Note = {
  id: 'LINK-NOT-EXPORTED',
  message:
    "The user logs in with an external provider, but the export lacks the user's id there: join auth.identities to it.",
};

/**
 * The user's identities at external providers. They are in the table `auth.identities`, which an export may have joined
 * as a JSON column `identities`, as the admin API does.
 */
function linksOf(record: Fields, notes: Note[]): ProviderLink[] {
  const links = listAt(record, 'identities').flatMap(linkOf);
  if (links.length > 0) return links;
  const providers = providersOf(record);
  const only = providers.length === 1 ? textAt(userDataOf(record), 'provider_id') : undefined;
  if (only !== undefined)
    return [{ provider: providers[0] as string, externalUserId: only, displayName: nameOf(userDataOf(record)) }];
  if (providers.length > 0) notes.push(LINKS_DROPPED);
  return [];
}

/** GoTrue's own sign-in methods, which are not external providers. */
const OWN_METHODS = ['email', 'phone', 'anonymous_users'];

/** The id is `provider_id`; before 2023 it was `id`, which the API still uses. */
function linkOf(identity: Fields): ProviderLink[] {
  const provider = textAt(identity, 'provider');
  const data = jsonAt(identity, 'identity_data');
  const externalUserId = textAt(identity, 'provider_id') ?? textAt(data, 'sub') ?? textAt(identity, 'id');
  if (provider === undefined || externalUserId === undefined || OWN_METHODS.includes(provider)) return [];
  return [{ provider, externalUserId, displayName: nameOf(data) }];
}

function nameOf(data: Fields): string | undefined {
  return textAt(data, 'full_name') ?? textAt(data, 'name') ?? textAt(data, 'email');
}

function providersOf(record: Fields): string[] {
  const { provider, providers } = appDataOf(record);
  const named = Array.isArray(providers) ? providers : [provider];
  return named.filter((name) => typeof name === 'string').filter((name) => !OWN_METHODS.includes(name));
}

/**
 * The secret of a verified authenticator app, from the table `auth.mfa_factors`, which an export may have joined as a
 * JSON column `factors`; the API never returns it.
 */
function totpOf(record: Fields, notes: Note[]): string | undefined {
  const factors = listAt(record, 'factors').filter((factor) => textAt(factor, 'status') === 'verified');
  const secrets = factors.flatMap((factor) => {
    const read = textAt(factor, 'factor_type') === 'totp' ? readTotpSecret(textAt(factor, 'secret') ?? '') : undefined;
    return read !== undefined && 'secret' in read ? [read.secret] : [];
  });
  if (factors.length > 1 || factors.length > secrets.length) notes.push(SECOND_FACTOR_LOST);
  return secrets[0];
}

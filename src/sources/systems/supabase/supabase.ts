/**
 * Supabase Auth (GoTrue): rows of its table `auth.users` as CSV or JSON, and users as its admin API lists them, without
 * hashes.
 *
 * Databases write objects as JSON texts, booleans as `false` or `f`, and absent values as an empty text or `null`.
 * https://supabase.com/docs/guides/auth/users, https://github.com/supabase/auth (internal/models/user.go)
 */
import type { Note, Person, Skipped } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, parseJson, textAt } from '../../values.ts';
import { linksOf, totpOf } from './identities.ts';
import { appMetadataOf, profileOf, userMetadataOf } from './metadata.ts';

const HASH = 'encrypted_password';

const NO_HASHES: Note = {
  id: 'PASSWORD-NOT-EXPORTED',
  message:
    'The record has no field encrypted_password, which the admin API never returns; a user with a password must set a new one.',
};
const ENCRYPTED: Note = {
  id: 'HASH-ENCRYPTED',
  message: 'The hash is encrypted with a database key (GOTRUE_SECURITY_DB_ENCRYPTION) and cannot be read.',
};

/** Columns that only this table has. */
const ITS_OWN = ['raw_app_meta_data', 'raw_user_meta_data', 'email_confirmed_at', 'is_sso_user', 'phone_confirmed_at'];

export const supabase: Source = {
  name: 'supabase',
  title: 'Supabase Auth',
  formats: ['csv', 'json', 'ndjson'],
  jsonPaths: [['users', '*']],
  recognizes(record) {
    if (textAt(record, 'id') === undefined) return 0;
    if ('encrypted_password' in record) return ITS_OWN.some((name) => name in record) ? 1 : 0;
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

function convert(record: Fields, { now, hasHashes }: Export): Person | Skipped {
  if (textAt(record, 'deleted_at') !== undefined) return { skip: 'A deleted user.' };
  if (boolAt(record, 'is_anonymous') === true) return { skip: 'An anonymous user.' };
  const notes: Note[] = [];
  return {
    userId: textAt(record, 'id'),
    email: textAt(record, 'email'),
    emailVerified: isEmailVerified(record),
    ...profileOf(record),
    ...phoneOf(record),
    state: isBanned(record, now) ? 'inactive' : 'active',
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

/** GoTrue stores numbers without their plus sign. */
function phoneOf(record: Fields): Pick<Person, 'phone' | 'phoneVerified'> {
  const phone = textAt(record, 'phone');
  if (phone === undefined) return {};
  const isDigits = /^[1-9][0-9]{6,14}$/.test(phone);
  return { phone: isDigits ? `+${phone}` : phone, phoneVerified: textAt(record, 'phone_confirmed_at') !== undefined };
}

/** A time that cannot be parsed may be `infinity`. A word such as `none`, or a shifted cell, is not a time. */
function isBanned(record: Fields, now: number): boolean {
  const until = textAt(record, 'banned_until');
  if (until === undefined || !/^(?:[0-9]|infinity$)/i.test(until)) return false;
  // PostgreSQL writes `2030-01-15 10:30:00.5+00`.
  const moment = Date.parse(until.replace(' ', 'T').replace(/([+-][0-9]{2})$/, '$1:00'));
  return Number.isNaN(moment) || moment > now;
}

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

/**
 * Rebuilds the entry of `humanUsers` that was sent for a user, so that the caller can correct it and send it again.
 *
 * Guarantee: a plain password is returned only as a hash, which also replaces it in the database; fields that the
 * original entry omitted stay omitted. On crash between hashing and storing the hash, the next report makes a new one.
 */
import { GENDERS } from '../../fields/fields.ts';
import { sourceOf } from '../../passwords/at-source.ts';
import { bareHash } from '../../passwords/pepper.ts';
import { type HashDeps, hashItem } from '../run/hash-item.ts';
import { hashPassword, sealEntry, unsealEntry, WITHHELD, withholdSecrets } from '../validate/entry-secrets.ts';
import type { PayloadRow } from './payload-pages.ts';

type Part = Record<string, unknown>;

/** The entry as it can be sent again. An invalid entry is returned as it was sent, except for secrets. */
export async function entryOf(deps: HashDeps, importId: string, row: PayloadRow): Promise<unknown> {
  if (row.entry_sealed !== null) return invalidEntry(deps, importId, row.ordinal, row.entry_sealed);
  const hash = row.password_sealed === null ? row.password_hash : await hashItem(deps, importId, row.ordinal);
  return entryFromColumns(row, hash);
}

/** The entry of an item that is stored column by column; the secret of a second factor is withheld. */
export function entryFromColumns(row: PayloadRow, hash: string | null): { user: Part } {
  const user = userOf(row, hash);
  const entry = { userId: row.user_id, state: `USER_STATE_${row.user_state.toUpperCase()}`, user };
  for (const part of [entry, user, user.profile, user.email, user.phone]) omit(part, omittedFields(row));
  return entry;
}

async function invalidEntry(deps: HashDeps, importId: string, ordinal: number, sealed: string): Promise<unknown> {
  const entry = unsealEntry(sealed, deps.secrets);
  if (await hashPassword(entry, deps.hash)) {
    await deps.pool.query(
      `update import_items set entry_sealed = $3 where import_id = $1 and ordinal = $2 and entry_sealed = $4`,
      [importId, ordinal, sealEntry(entry, deps.secrets), sealed],
    );
  }
  withholdSecrets(entry);
  return entry;
}

function userOf(row: PayloadRow, hash: string | null): Part {
  const { phone, extras } = row;
  const passwordSource = sourceOf(hash);
  return {
    userName: row.user_name,
    profile: {
      firstName: row.given_name,
      lastName: row.family_name,
      nickName: row.nick_name,
      displayName: row.display_name,
      preferredLanguage: row.preferred_language,
      gender: GENDERS[row.gender],
    },
    ...(row.email === null ? {} : { email: { email: row.email, isEmailVerified: row.email_verified } }),
    ...(phone === null ? {} : { phone: { phone, isPhoneVerified: row.phone_verified } }),
    ...(passwordSource === undefined ? {} : { passwordSource }),
    ...(hash === null || passwordSource !== undefined ? {} : { hashedPassword: { value: bareHash(hash) } }),
    passwordChangeRequired: row.password_change_required,
    ...(extras?.metadata.length ? { metadata: extras.metadata } : {}),
    ...(extras?.idps.length ? { idps: extras.idps } : {}),
    ...(row.totp_sealed === null ? {} : { otpCode: WITHHELD }),
  };
}

/** The fields that the entry omitted, if known; otherwise those that hold their default. */
function omittedFields(row: PayloadRow): readonly string[] {
  if (row.extras?.unsaid) return row.extras.unsaid;
  const hasDefault = {
    state: row.user_state === 'active',
    nickName: row.nick_name === '',
    preferredLanguage: row.preferred_language === '',
    gender: row.gender === 0,
    passwordChangeRequired: !row.password_change_required,
  };
  return Object.entries(hasDefault).flatMap(([field, isDefault]) => (isDefault ? [field] : []));
}

function omit(part: unknown, fields: readonly string[]): void {
  if (typeof part !== 'object' || part === null) return;
  for (const field of fields) delete (part as Part)[field];
}

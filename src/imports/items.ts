/**
 * The row of one user of an import, and its form for COPY.
 * The order of COLUMNS is the order of every COPY and insert into import_items.
 */
import type { ErrorBody } from '../errors.ts';

export interface PendingItem {
  state: 'pending';
  userId: string;
  userName: string;
  userNameKey: string;
  userState: 'active' | 'inactive' | 'locked';
  givenName: string;
  familyName: string;
  nickName: string;
  displayName: string;
  preferredLanguage: string;
  gender: number;
  email: string;
  emailKey: string;
  emailVerified: boolean;
  phone: string | null;
  phoneVerified: boolean;
  passwordHash: string | null;
  passwordSealed: string | null;
  totpSealed: string | null;
  passwordChangeRequired: boolean;
  extras: {
    metadata: { key: string; value: string }[];
    idps: { configId: string; externalUserId: string; displayName: string }[];
    /** Fields that the entry left open; see validate/omitted-fields.ts. */
    unsaid?: string[];
  } | null;
  error: null;
}

export interface FailedItem {
  state: 'failed';
  userId: string | null;
  userName: string | null;
  error: ErrorBody;
  /** The whole entry as it was sent, to be mended; a dry run keeps none. */
  entrySealed: string | null;
}

export type Item = PendingItem | FailedItem;

export const COLUMNS = [
  'import_id',
  'ordinal',
  'org_index',
  'maybe_duplicate',
  'state',
  'user_id',
  'user_name',
  'error',
  'user_name_key',
  'user_state',
  'given_name',
  'family_name',
  'nick_name',
  'display_name',
  'preferred_language',
  'gender',
  'email',
  'email_key',
  'email_verified',
  'phone',
  'phone_verified',
  'password_hash',
  'password_sealed',
  'totp_sealed',
  'password_change_required',
  'extras',
  'entry_sealed',
] as const;

/** What is erased when it is not needed any more: all but ids, name and outcome. */
export const PAYLOAD = COLUMNS.slice(8);

const FAILED_TAIL = '\t\\N'.repeat(PAYLOAD.length - 1);
const SPECIAL = /[\\\n\r\t\b\f\v]/;
const ESCAPES: Record<string, string> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\b': '\\b',
  '\f': '\\f',
  '\v': '\\v',
};

function text(s: string | null): string {
  if (s === null) return '\\N';
  return SPECIAL.test(s) ? s.replace(/[\\\n\r\t\b\f\v]/g, (c) => ESCAPES[c] as string) : s;
}

function plainText(s: string | null): string {
  return s ?? '\\N';
}

/**
 * One line of COPY's text format, newline included (PostgreSQL, COPY, "Text Format").
 * @param plain no string of the entry was written with an escape, so none holds what COPY would need one for
 */
export function copyLine(
  importId: string,
  ordinal: number,
  org: number,
  duplicate: boolean,
  item: Item,
  plain = false,
): string {
  const field = plain ? plainText : text;
  const head = `${importId}\t${ordinal}\t${org}\t${duplicate ? 't' : 'f'}\t${item.state}\t${field(item.userId)}\t${field(item.userName)}\t`;
  if (item.state === 'failed')
    return `${head}${text(JSON.stringify(item.error))}${FAILED_TAIL}\t${item.entrySealed ?? '\\N'}\n`;
  return `${head}\\N\t${field(item.userNameKey)}\t${item.userState}\t${field(item.givenName)}\t${field(item.familyName)}\t${field(item.nickName)}\t${field(item.displayName)}\t${item.preferredLanguage}\t${item.gender}\t${field(item.email)}\t${field(item.emailKey)}\t${item.emailVerified ? 't' : 'f'}\t${field(item.phone)}\t${item.phoneVerified ? 't' : 'f'}\t${field(item.passwordHash)}\t${item.passwordSealed ?? '\\N'}\t${item.totpSealed ?? '\\N'}\t${item.passwordChangeRequired ? 't' : 'f'}\t${item.extras === null ? '\\N' : text(JSON.stringify(item.extras))}\t\\N\n`;
}

/** The same row as parameters of an insert, in the order of COLUMNS from `maybe_duplicate` on. */
export function itemValues(item: PendingItem): unknown[] {
  return [
    false,
    item.state,
    item.userId,
    item.userName,
    null,
    item.userNameKey,
    item.userState,
    item.givenName,
    item.familyName,
    item.nickName,
    item.displayName,
    item.preferredLanguage,
    item.gender,
    item.email,
    item.emailKey,
    item.emailVerified,
    item.phone,
    item.phoneVerified,
    item.passwordHash,
    item.passwordSealed,
    item.totpSealed,
    item.passwordChangeRequired,
    item.extras === null ? null : JSON.stringify(item.extras),
    null,
  ];
}

/**
 * An item, the row of one user of an import: its columns as a parameter list and as a line of COPY, the SQL that
 * selects the items of a batch, the purposes of its secrets, and its job in the queue.
 *
 * List and line are built from one table of columns, `columnsOf`. A closure for each column would be neater, but
 * makes a line of COPY take 1.8 times as long.
 */
import type { ErrorBody } from '../../platform/errors.ts';
import type { OldSignIn } from '../../sources/entry.ts';
import type { Extras } from './factors.ts';
import { itemFacts } from './facts.ts';
import { linkNames } from './link-names.ts';

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
  /** Null if the import allows users without one. */
  email: string | null;
  emailKey: string | null;
  emailVerified: boolean;
  phone: string | null;
  phoneVerified: boolean;
  passwordHash: string | null;
  passwordSealed: string | null;
  totpSealed: string | null;
  passwordChangeRequired: boolean;
  extras: Extras | null;
  /** How the user signed in to the other system, if the entry says so. */
  oldSignIn: OldSignIn | null;
  error: null;
}

export interface FailedItem {
  state: 'failed';
  userId: string | null;
  userName: string | null;
  error: ErrorBody;
  /** The whole entry as it was sent, encrypted, so that it can be corrected and sent again; a dry run keeps none. */
  entrySealed: string | null;
}

export type Item = PendingItem | FailedItem;

const NAMES = Object.keys(columnsOf({} as PendingItem, String, String));
/** The columns that are kept when the payload of an item is erased: its outcome, id and name, and how the user signs in. */
const KEPT = ['state', 'user_id', 'user_name', 'error', 'sign_in', 'links'];

/** The columns that are erased when they are no longer needed. */
export const PAYLOAD: readonly string[] = NAMES.filter((name) => !KEPT.includes(name));
/** SQL: erases the payload of an item, in the list of an update. */
export const ERASED = PAYLOAD.map((column) => `${column} = null`).join(', ');
/** The columns that `itemValues` fills. */
export const ITEM_COLUMNS: readonly string[] = ['maybe_duplicate', ...NAMES];
/** The columns of a line of COPY. */
export const COLUMNS: readonly string[] = ['import_id', 'ordinal', 'org_index', ...ITEM_COLUMNS];

const NULL = '\\N';
const FAILED_USER = `\t${NULL}`.repeat(PAYLOAD.length - 1);
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

/**
 * One line of COPY's text format, newline included (PostgreSQL, COPY, "Text Format").
 * @param plain whether no string of the entry's JSON used an escape, so that none contains a character that COPY
 * escapes
 */
export function copyLine(
  importId: string,
  ordinal: number,
  org: number,
  duplicate: boolean,
  item: Item,
  plain = false,
): string {
  const text = plain ? unescaped : escaped;
  let line = `${importId}\t${ordinal}\t${org}\t${duplicate ? 't' : 'f'}`;
  if (item.state === 'failed') {
    const { userId, userName, error, entrySealed } = item;
    line += `\tfailed\t${text(userId)}\t${text(userName)}\t${escaped(JSON.stringify(error))}`;
    return `${line}${FAILED_USER}\t${entrySealed ?? NULL}\t${NULL}\t${NULL}\n`;
  }
  const columns: Record<string, string> = columnsOf(item, text, unescaped);
  for (const name in columns) line += `\t${columns[name]}`;
  return `${line}\n`;
}

/** The values of an item as parameters of an insert, in the order of ITEM_COLUMNS. */
export function itemValues(item: PendingItem): unknown[] {
  const same = (value: string | null) => value;
  return [false, ...Object.values(columnsOf(item, same, same))];
}

/**
 * The table of columns: their names and order, and the values of an item, for inserts and for lines of COPY.
 * @param text writes a string that the caller sent
 * @param plain writes a value that never needs escaping
 */
function columnsOf<T>(item: PendingItem, text: (value: string | null) => T, plain: (value: string | null) => T) {
  return {
    state: plain(item.state),
    user_id: text(item.userId),
    user_name: text(item.userName),
    error: plain(item.error),
    user_name_key: text(item.userNameKey),
    user_state: plain(item.userState),
    given_name: text(item.givenName),
    family_name: text(item.familyName),
    nick_name: text(item.nickName),
    display_name: text(item.displayName),
    preferred_language: plain(item.preferredLanguage),
    gender: plain(`${item.gender}`),
    email: text(item.email),
    email_key: text(item.emailKey),
    email_verified: plain(item.emailVerified ? 't' : 'f'),
    phone: text(item.phone),
    phone_verified: plain(item.phoneVerified ? 't' : 'f'),
    password_hash: text(item.passwordHash),
    password_sealed: plain(item.passwordSealed),
    totp_sealed: plain(item.totpSealed),
    password_change_required: plain(item.passwordChangeRequired ? 't' : 'f'),
    extras: item.extras === null ? plain(null) : text(JSON.stringify(item.extras)),
    // Only a failed item has an encrypted entry.
    entry_sealed: plain(null),
    sign_in: plain(itemFacts(item)?.toString() ?? null),
    links: text(arrayOf(linkNames(item))),
  };
}

/** The literal of an array of texts (PostgreSQL, Array Input and Output Syntax). */
function arrayOf(texts: readonly string[] | null): string | null {
  return texts && `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join()}}`;
}

function escaped(s: string | null): string {
  if (s === null) return NULL;
  return SPECIAL.test(s) ? s.replace(/[\\\n\r\t\b\f\v]/g, (c) => ESCAPES[c] as string) : s;
}

function unescaped(s: string | null): string {
  return s ?? NULL;
}

/** The states in which a user can be imported, by their names in an entry. */
export const USER_STATES = {
  USER_STATE_ACTIVE: 'active',
  USER_STATE_INACTIVE: 'inactive',
  USER_STATE_LOCKED: 'locked',
} as const;

/** The state that an entry names; undefined if there is none of this name. */
export function userStateOf(name: string): PendingItem['userState'] | undefined {
  return Object.hasOwn(USER_STATES, name) ? USER_STATES[name as keyof typeof USER_STATES] : undefined;
}

/**
 * SQL over `import_items i`: the item is in the range of a batch's ordinals. The import is `$1`.
 *
 * `i.ordinal = any(…)` alone is not enough. PostgreSQL before 17 may use it as a filter, and does when the plan was
 * made while the table was small: each batch would then read the whole import. A range is always an index condition.
 * The ordinals of a batch are close together, except when a few of many items are retried.
 * @param ordinals the SQL parameter that holds them, in any order
 */
export function withinBatch(ordinals: string): string {
  const end = (which: 'min' | 'max') => `(select ${which}(o) from unnest(${ordinals}::int[]) as o)`;
  return `i.import_id = $1 and i.ordinal between ${end('min')} and ${end('max')}`;
}

/**
 * A `from` item: the import's items with these ordinals.
 * @param ordinals the SQL parameter that holds them, each once, or its item is returned twice
 */
export function itemsOfBatch(ordinals: string): string {
  return `unnest(${ordinals}::int[]) as wanted (ordinal)
    join import_items i on i.ordinal = wanted.ordinal and ${withinBatch(ordinals)}`;
}

/** Purpose of encryption of a plain password, until a worker has hashed it. */
export const PASSWORD_PURPOSE = 'import-password';
/** Purpose of encryption of an invalid entry as a whole, until it is corrected or erased. */
export const ENTRY_PURPOSE = 'import-entry';
/** Purpose of encryption of the key of an uploaded file's pieces, until the draft is started or erased. */
export const FILE_KEY_PURPOSE = 'import-file-key';

/** Imports that have their own batch writer: `onExisting=skip`, `onExisting=update`, and dry runs. */
export type Special = 'skip' | 'update' | 'dry';

/** The job of an item: `i` is the import id, `o` the item's ordinal. The user's data stays in the database. */
export interface ItemPointer {
  i: string;
  o: number;
  /** The writer to use; absent for a default import. */
  m?: Special;
  /** The item is the only one of its import: nothing else will come that it could share a statement with. */
  only?: true;
}

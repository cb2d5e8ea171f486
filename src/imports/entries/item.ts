import { allowLong } from '../../platform/db/client.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { ErrorBody } from '../../platform/errors.ts';
import { END_STATES, type EndState, publish, type Ran } from '../../platform/telemetry.ts';
/**
 * An item: the row of one user of an import, as a parameter list and as a line of COPY. Both are built from one table
 * of columns, `columnsOf`. A closure for each column would be neater, but makes a line of COPY take 1.8 times as long.
 */

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
  extras: {
    metadata: { key: string; value: string }[];
    idps: { configId: string; externalUserId: string; displayName: string }[];
    /** Fields that the entry omits; see validate/omitted-fields.ts. Stored items keep the name of earlier versions. */
    unsaid?: string[];
  } | null;
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
  };
}

const NAMES = Object.keys(columnsOf({} as PendingItem, String, String));
/** The columns that are kept when the payload of an item is erased: its outcome, id and name. */
const KEPT = ['state', 'user_id', 'user_name', 'error'];

/** The columns that are erased when they are no longer needed. */
export const PAYLOAD: readonly string[] = NAMES.filter((name) => !KEPT.includes(name));
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

function escaped(s: string | null): string {
  if (s === null) return NULL;
  return SPECIAL.test(s) ? s.replace(/[\\\n\r\t\b\f\v]/g, (c) => ESCAPES[c] as string) : s;
}

function unescaped(s: string | null): string {
  return s ?? NULL;
}

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
    return `${line}${FAILED_USER}\t${entrySealed ?? NULL}\n`;
  }
  const columns: Record<string, string> = columnsOf(item, text, unescaped);
  for (const name in columns) line += `\t${columns[name]}`;
  return `${line}\n`;
}

/** The same row as parameters of an insert, in the order of ITEM_COLUMNS. */
export function itemValues(item: PendingItem): unknown[] {
  const same = (value: string | null) => value;
  return [false, ...Object.values(columnsOf(item, same, same))];
}

/**
 * SQL fragments that select the items of a batch by their ordinals. The item is `i`, the import is `$1`.
 *
 * `i.ordinal = any(…)` alone is not enough. PostgreSQL before 17 may use it as a filter, and does when the plan was
 * made while the table was small: each batch would then read the whole import. A range is always an index condition.
 * The ordinals of a batch are close together, except when a few of many items are retried.
 */

/** The condition for the range of the ordinals. @param ordinals the SQL parameter that holds them, in any order */
export function withinBatch(ordinals: string): string {
  const end = (which: 'min' | 'max') => `(select ${which}(o) from unnest(${ordinals}::int[]) as o)`;
  return between(end('min'), end('max'));
}

/** The same for ordinals in ascending order, which takes the ends of the parameter without reading the rest. */
export function withinSorted(ordinals: string): string {
  return between(`(${ordinals}::int[])[1]`, `(${ordinals}::int[])[cardinality(${ordinals}::int[])]`);
}

function between(first: string, last: string): string {
  return `i.import_id = $1 and i.ordinal between ${first} and ${last}`;
}

/**
 * A `from` item: the import's items with these ordinals.
 * @param ordinals each once, or its item is returned twice
 * @param range `withinSorted(ordinals)` if they are in ascending order
 */
export function itemsOfBatch(ordinals: string, range = withinBatch(ordinals)): string {
  return `unnest(${ordinals}::int[]) as wanted (ordinal)
    join import_items i on i.ordinal = wanted.ordinal and ${range}`;
}

/** The purpose each secret of an item is encrypted for, so that none can be decrypted as another. */

/** A plain password until a worker has hashed it. */
export const PASSWORD_SEAL = 'import-password';
/** An invalid entry as a whole, until it is corrected or erased. */
export const ENTRY_SEAL = 'import-entry';
/** The key of an uploaded file's pieces, until the draft is started or erased. */
export const FILE_KEY_SEAL = 'import-file-key';

/** The jobs of the queue `imports`: one for each item of an import. */

/** The data of a job: `i` is the import id, `o` the item's ordinal. The user's data stays in the database. */
export interface ItemPointer {
  i: string;
  o: number;
  /** The writer to use; absent for a default import. */
  m?: Special;
  /** The item is the only one of its import: nothing else will come that it could share a statement with. */
  only?: true;
}

/** Imports that have their own batch writer: `onExisting=skip`, `onExisting=update`, and dry runs. */
export type Special = 'skip' | 'update' | 'dry';

/** Tells `/metrics` and the trace that an import has ended, and what became of its users: call these after the commit. */

/** SQL columns of `imports`, for `Ran`. Without the time in which the import was paused or had ended. */
export const RAN =
  'id as "importId", kind, dry_run as "dryRun", extract(epoch from clock_timestamp() - accepted_at - stood)::float8 as seconds';

/** The same for the import `$1`, in a statement that has columns of other tables; joins as `ran`. */
export const JOIN_RAN = `left join (select ${RAN} from imports where id = $1) ran on true`;

/** @param state of the import after the commit; one in which it has not ended is ignored */
export function publishEnd(state: string | null | undefined, ran: Ran | undefined): void {
  if (!ran || !isEnd(state)) return;
  const { importId, kind, dryRun, seconds } = ran;
  publish('importEnded', { state, importId, kind, dryRun, seconds });
}

function isEnd(state: string | null | undefined): state is EndState {
  return (END_STATES as readonly (string | null | undefined)[]).includes(state);
}

/** What a batch has settled, as the last step of its transaction returns it. */
export interface SettledBatch extends Ran {
  succeeded: number;
  skipped: number;
  failed: number;
  /** State of the import. */
  state: string;
}

/** A dry run counts as an import, but its users do not count: none of them is written. */
export function publishBatch(batch: SettledBatch): void {
  const { succeeded, skipped, failed } = batch;
  if (!batch.dryRun) publish('users', { succeeded, skipped, failed });
  publishEnd(batch.state, batch);
}

/**
 * Counts the failed users of an import by their errors, so that showing the causes does not read every failed user.
 *
 * Every statement that fails users adds a row for each error of its batch. Batches without failures add none, and no two
 * batches write the same row. A statement that changes failed users deletes the counts of their import.
 *
 * Guarantee: the counts describe failed users only, each at most once and with its present error. So they are complete
 * if their sum is the number of failed users; otherwise the reader counts the users themselves (fix/causes.ts).
 * On crash: counts and outcomes are written in one transaction.
 */

/** First users of a cause. */
export const FIRST = 5;

/** Different errors at a time, which bound memory: an error may name a hundred fields. */
export const MOST_ERRORS = 2500;

/**
 * Sorts the ordinals of each error, as sorting the errors with them takes longer.
 * @param settled the CTE that returns `ordinal`, `state` and `error` of the batch's items; the import is `$1`
 */
export function failuresCounted(settled: string): string {
  return `failures_counted as (
  insert into import_failures (import_id, error, users, first)
  select $1, error, cardinality(ordinals), array(select o from unnest(ordinals) as o order by o limit ${FIRST})
  from (select error, array_agg(ordinal) as ordinals from ${settled} where state = 'failed' group by error) alike
)`;
}

/** Counts those who failed before the start: invalid entries and duplicates. Too many different errors are not kept. */
export async function countFirstFailures(db: Db, importId: string): Promise<void> {
  await allowLong(db);
  await db.query(
    `with alike as materialized (
       select count(*)::int as users, (array_agg(ordinal order by ordinal))[1:${FIRST}] as first
       from import_items where import_id = $1 and error is not null and state = 'failed'
       group by jsonb_hash_extended(error, 0) limit ${MOST_ERRORS + 1})
     insert into import_failures (import_id, error, users, first)
     select $1, one.error, users, first
     from alike cross join lateral (
       select error from import_items where import_id = $1 and ordinal = first[1] limit 1) one
     where (select count(*) from alike) <= ${MOST_ERRORS}`,
    [importId],
  );
}

/** Call it in the transaction that changes failed users, after the change. */
export async function forgetFailures(db: Db, importId: string): Promise<void> {
  await db.query('delete from import_failures where import_id = $1', [importId]);
}

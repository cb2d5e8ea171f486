/**
 * Reads failed items with their stored entries, and writes corrected ones.
 *
 * Guarantee: an item is written only if it is still failed and nobody has changed it since it was read. It stays
 * failed until `_retry`, so no count changes: a valid entry gets the error IMPORT-USER-FIXED, one that is still invalid
 * the error that names its remaining fields. Secrets are encrypted as at acceptance, and erased with the same payload.
 */
import type { Db, Pool } from '../../db/pool.ts';
import { type ErrorBody, errorBody } from '../../errors.ts';
import { TOTP_SEAL } from '../../identity/totp/secret.ts';
import type { Secrets } from '../../secrets.ts';
import { forgetFailures } from '../failures.ts';
import { bodySources } from '../intake/body-sources.ts';
import { takePepper } from '../intake/pepper.ts';
import { ITEM_COLUMNS, type Item, itemValues, PAYLOAD } from '../items.ts';
import type { ExistingRule } from '../options.ts';
import { entryFromColumns } from '../report/payload-entry.ts';
import type { PayloadRow } from '../report/payload-pages.ts';
import { PASSWORD_SEAL } from '../seals.ts';
import { dropSecondSpellings, unsealEntry } from '../validate/entry-secrets.ts';
import { noteOmitted } from '../validate/omitted-fields.ts';
import { judgedItem } from '../validate/validate.ts';
import { FIXED_ID, violationsOf } from './cause.ts';

export interface StoredRow extends PayloadRow {
  state: string;
  error: ErrorBody | null;
  user_name_key: string | null;
  kept: string | null;
  changed: string[] | null;
  /** Differs after each change of the row. */
  version: string;
}

/** The items with these ordinals, in order. */
export async function readStored(db: Db, importId: string, ordinals: readonly number[]): Promise<StoredRow[]> {
  const { rows } = await db.query<StoredRow>(
    `select *, xmin::text as version from import_items
     where import_id = $1 and ordinal = any($2::int[]) order by ordinal`,
    [importId, ordinals],
  );
  return rows;
}

/** Whether the entry is still there: neither written nor erased. */
export function hasEntry(row: StoredRow): boolean {
  return row.entry_sealed !== null || row.user_name_key !== null;
}

/** The whole entry with its secrets in clear: for validation only, never to be shown (see shown-entry.ts). */
export function storedEntry(row: StoredRow, secrets: Secrets): unknown {
  if (row.entry_sealed !== null) {
    const entry = unsealEntry(row.entry_sealed, secrets);
    dropSecondSpellings(entry);
    return entry;
  }
  const entry = entryFromColumns(row, row.password_hash);
  if (row.password_sealed !== null) entry.user.password = secrets.unseal(row.password_sealed, PASSWORD_SEAL);
  if (row.totp_sealed !== null) entry.user.otpCode = secrets.unseal(row.totp_sealed, TOTP_SEAL);
  return entry;
}

export interface FixRules {
  onExisting: ExistingRule;
  withoutEmail: boolean;
  passwordSource: string | null;
  /** The import whose pepper the hashes need. */
  peppered: string | null;
}

export async function fixRules(pool: Pool, importId: string): Promise<FixRules> {
  const { rows } = await pool.query<FixRules>(
    `select on_existing as "onExisting", without_email as "withoutEmail", password_source as "passwordSource",
       (select p.import_id::text from import_peppers p where p.import_id = imports.id) as peppered
     from imports where id = $1`,
    [importId],
  );
  return rows[0] as FixRules;
}

/** Validates a changed entry by the rules of its import. @param row the item before the change */
export function judged(entry: unknown, row: StoredRow, rules: FixRules, secrets: Secrets): Item {
  const strict = violationsOf(row.error).some(({ description }) => description === 'is not a known field');
  const { withoutEmail, onExisting, passwordSource, peppered } = rules;
  const item = judgedItem(entry, secrets, { unknown: () => {} }, { strict, withoutEmail });
  bodySources(passwordSource ?? undefined).take(row.org_index, item);
  if (peppered !== null) takePepper(item, peppered);
  if (item.state === 'pending' && onExisting !== 'fail') noteOmitted(entry, item);
  return item;
}

const FIXED = fixedError('The entry was corrected. Retry the import to import this user.');

/** Of an entry that was corrected. @param message says what to do next */
export function fixedError(message: string): ErrorBody {
  return errorBody('FAILED_PRECONDITION', FIXED_ID, message);
}

const NOTHING = Object.fromEntries(PAYLOAD.map((column) => [column, null]));

export interface ChangedItem {
  /** Before the change. */
  row: StoredRow;
  item: Item;
  /** The whole changed entry, with its secrets in clear. */
  entry: unknown;
}

/**
 * @returns the ordinals of the items that were written
 * @throws ApiError 400 IMPORT-PASSWORD-SOURCE
 */
export async function writeChanged(db: Db, importId: string, changed: readonly ChangedItem[]): Promise<number[]> {
  await requireSourcesOf(db, importId, changed);
  const columns = ['user_id', 'user_name', 'error', ...PAYLOAD];
  const { rows } = await db.query<{ ordinal: number }>(
    `update import_items i set ${columns.map((column) => `${column} = r.${column}`).join(', ')}
     from json_populate_recordset(null::import_items, $2::json) r
       join unnest($3::int[], $4::text[]) as seen (ordinal, version) on seen.ordinal = r.ordinal
     where i.import_id = $1 and i.ordinal = any($3) and i.ordinal = r.ordinal and i.state = 'failed'
       and i.xmin::text = seen.version
     returning i.ordinal`,
    [
      importId,
      JSON.stringify(changed.map(({ row, item }) => ({ ordinal: row.ordinal, ...columnsOf(item, FIXED) }))),
      changed.map(({ row }) => row.ordinal),
      changed.map(({ row }) => row.version),
    ],
  );
  await forgetFailures(db, importId);
  return rows.map((r) => r.ordinal);
}

/** An entry that failed at the acceptance may name any password source. */
export async function requireSourcesOf(db: Db, importId: string, changed: readonly ChangedItem[]): Promise<void> {
  const sources = bodySources(undefined);
  for (const { row, item } of changed) sources.take(row.org_index, item);
  if (!sources.isUsed()) return;
  const { rows } = await db.query<{ org_index: number; org_id: string }>(
    'select org_index, org_id from import_orgs where import_id = $1',
    [importId],
  );
  const orgs = new Map(rows.map((row) => [row.org_index, row.org_id]));
  await sources.require(db, (org) => orgs.get(org) ?? '');
}

/** The columns of the item as a failed one keeps them. @param fixed in place of the error of a valid one */
export function columnsOf(item: Item, fixed: ErrorBody | null): Record<string, unknown> {
  if (item.state === 'failed') {
    const { state, userId, userName, error, entrySealed } = item;
    return { ...NOTHING, state, user_id: userId, user_name: userName, error, entry_sealed: entrySealed };
  }
  const values = itemValues(item);
  const columns = Object.fromEntries(ITEM_COLUMNS.map((name, i) => [name, values[i]]));
  return { ...columns, extras: item.extras, error: fixed };
}

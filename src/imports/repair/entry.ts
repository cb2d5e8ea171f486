/**
 * Reads failed items with their stored entries, shows an entry for editing, changes it by a JSON merge patch (RFC
 * 7396), and writes corrected ones.
 *
 * Guarantee: an item is written only if it is still failed and nobody has changed it since it was read. It stays
 * failed until `_retry`, so no count changes: a valid entry gets the error IMPORT-USER-FIXED, one that is still
 * invalid the error that names its remaining fields. Secrets are encrypted as at acceptance, and erased with the same
 * payload.
 */
import { FIXED_ID, violationsOf } from '../../contract/causes.ts';
import { importEntry } from '../../contract/import-entry.ts';
import { schemeSeen } from '../../passwords/registry.ts';
import { TOTP_PURPOSE } from '../../passwords/totp-secret.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../../platform/db/rows.ts';
import type { ImportItems, ImportOrgs, ImportPeppers, Imports } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import {
  type ApiError,
  type ErrorBody,
  errorBody,
  type FieldViolation,
  invalidArgument,
} from '../../platform/errors.ts';
import { camelCase } from '../../platform/text/names.ts';
import { ITEM_COLUMNS, type Item, itemValues, PASSWORD_PURPOSE, PAYLOAD } from '../entries/item.ts';
import { noteOmitted } from '../entries/notes.ts';
import { forgetFailures } from '../entries/outcome.ts';
import { dropSecondSpellings, mayHoldSecret, unsealEntry } from '../entries/secrets.ts';
import { type Shape, shapeOf, storable, validateEntry } from '../entries/validate.ts';
import { addAuthor } from '../intake/authority.ts';
import { takePepper } from '../intake/pepper.ts';
import { bodySources } from '../intake/requirements.ts';
import { entryFromColumns, type PayloadRow } from './report.ts';

type Fields = Record<string, unknown>;

/** In place of a value that is not shown. */
export const HIDDEN = { withheld: true } as const;
const SHAPE = shapeOf(importEntry);
/** How hashes begin in the Modular Crypt Format, and in LDAP directories. */
const HASH_LIKE = /^\s*(?:\$[A-Za-z0-9-]{1,20}\$|\{[A-Za-z0-9._-]{1,20}\}.)/;
const HASH_NAME = /hash|salt|digest/i;

const FIXED = fixedError('The entry was corrected. Retry the import to import this user.');

const NOTHING = Object.fromEntries(['sign_in', 'links', ...PAYLOAD].map((column) => [column, null]));

export interface StoredRow extends PayloadRow, Pick<ImportItems, 'state' | 'user_name_key' | 'kept' | 'changed'> {
  error: ErrorBody | null;
  /** Differs after each change of the row. */
  version: string;
}

/** Whether the entry is still there: neither written nor erased. */
export function hasEntry(row: StoredRow): boolean {
  return row.entry_sealed !== null || row.user_name_key !== null;
}

/** The whole entry with its secrets in clear: for validation only, never to be shown (see `shownEntry`). */
export function storedEntry(row: StoredRow, secrets: Secrets): unknown {
  if (row.entry_sealed !== null) {
    const entry = unsealEntry(row.entry_sealed, secrets);
    dropSecondSpellings(entry);
    return entry;
  }
  const entry = entryFromColumns(row, row.password_hash, secrets);
  if (row.password_sealed !== null) entry.user.password = secrets.unseal(row.password_sealed, PASSWORD_PURPOSE);
  if (row.totp_sealed !== null) putApps(entry.user, row.totp_sealed, row.extras?.totps ?? [], secrets);
  return entry;
}

function putApps(user: Fields, first: string, others: { sealed: string }[], secrets: Secrets): void {
  const keys = [first, ...others.map(({ sealed }) => sealed)].map((sealed) => secrets.unseal(sealed, TOTP_PURPOSE));
  if (Array.isArray(user.totps)) user.totps = user.totps.map((app, i) => ({ ...app, secret: keys[i] }));
  else user.otpCode = keys[0];
}

const FIX_RULES = {
  onExisting: 'on_existing',
  withoutEmail: 'without_email',
  passwordSource: 'password_source',
} as const satisfies Names<Imports>;

export interface FixRules extends Named<Imports, typeof FIX_RULES> {
  /** The import whose pepper the hashes need. */
  peppered: ImportPeppers['import_id'] | null;
}

/** The rules of the import for its entries. */
export async function fixRules(pool: Pool, importId: string): Promise<FixRules> {
  const { rows } = await pool.query<FixRules>(
    `select ${columnList(FIX_RULES)},
       (select p.import_id::text from import_peppers p where p.import_id = imports.id) as peppered
     from imports where id = $1`,
    [importId],
  );
  return oneRow(rows);
}

/** Validates a changed entry by the rules of its import. @param row the item before the change */
export function judged(entry: unknown, row: StoredRow, rules: FixRules, secrets: Secrets): Item {
  const strict = violationsOf(row.error).some(({ description }) => description === 'is not a known field');
  const { withoutEmail, onExisting, passwordSource, peppered } = rules;
  const item = validateEntry(entry, secrets, { unknown: () => {} }, { strict, withoutEmail });
  bodySources(passwordSource ?? undefined).take(row.org_index, item);
  if (peppered !== null) takePepper(item, peppered);
  if (item.state === 'pending' && onExisting !== 'fail') noteOmitted(entry, item, false);
  return item;
}

/** The error of an entry that was corrected. @param message says what to do next */
export function fixedError(message: string): ErrorBody {
  return errorBody('FAILED_PRECONDITION', FIXED_ID, message);
}

export interface ChangedItem {
  /** Before the change. */
  row: StoredRow;
  item: Item;
  /** The whole changed entry, with its secrets in clear. */
  entry: unknown;
}

/** SQL over `import_items i`: the user has corrected the entry. @param parameter their id */
export function correctedBy(parameter: string): string {
  return `changed_by = array(select unnest(i.changed_by) union select ${parameter}::text)`;
}

/**
 * Writes changed entries.
 * @param editor who corrects them: from now on they have no more rights than this user
 * @returns the ordinals of the items that were written
 * @throws ApiError 400 IMPORT-PASSWORD-SOURCE
 */
export async function writeChanged(
  db: Db,
  importId: string,
  changed: readonly ChangedItem[],
  editor: string,
): Promise<number[]> {
  await requireSourcesOf(db, importId, changed);
  await addAuthor(db, importId, editor, 'entries');
  const columns = ['user_id', 'user_name', 'error', 'sign_in', 'links', ...PAYLOAD];
  const { rows } = await db.query<Pick<ImportItems, 'ordinal'>>(
    `update import_items i set ${correctedBy('$5')}, ${columns.map((column) => `${column} = r.${column}`).join(', ')}
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
      editor,
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
  const { rows } = await db.query<Pick<ImportOrgs, 'org_index' | 'org_id'>>(
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

/**
 * A stored entry as it may be shown for editing: its known fields, without any hash or secret.
 *
 * A password hash is shown only by the name of its scheme; passwords, second factors, metadata that looks like a
 * secret, and any text that looks like a password hash, whatever its field, are withheld. Such a value can be
 * replaced, never read. Unknown fields are not shown, as they may hold anything.
 * @param entry anything JSON can hold, with camelCase names; one that is no object is shown as an empty one
 */
export function shownEntry(entry: unknown): Fields {
  return isObject(entry) ? (shownValue(entry, SHAPE) as Fields) : {};
}

function shownValue(value: unknown, shape: Shape | true): unknown {
  if (typeof value === 'string') return HASH_LIKE.test(value) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map((element) => shownValue(element, shape));
  if (!isObject(value)) return value;
  if (shape === true) return HIDDEN; // an object where there should be a value
  const known = Object.entries(value).filter(([name]) => shape.has(name));
  if (typeof value.key === 'string' && shape.has('key')) return shownMetadata(value.key, value.value);
  return Object.fromEntries(known.map(([name, inner]) => [name, shownField(name, inner, shape.get(name) ?? true)]));
}

function shownField(name: string, value: unknown, shape: Shape | true): unknown {
  if (value === null || value === undefined) return value;
  if (name === 'hashedPassword') return { scheme: schemeOf(value) };
  if (mayHoldSecret(name)) return HIDDEN;
  return shownValue(value, shape);
}

function schemeOf(hashed: unknown): string {
  const hash = isObject(hashed) ? hashed.value : hashed;
  return typeof hash === 'string' ? schemeSeen(hash) : 'unknown';
}

function shownMetadata(key: string, value: unknown): Fields {
  const shownKey = shownValue(key, true);
  if (value === undefined) return { key: shownKey };
  const isPlain = typeof value === 'string' && !mayHoldSecret(key) && !HASH_NAME.test(key) && !holdsHash(value);
  return { key: shownKey, value: isPlain ? value : HIDDEN };
}

function holdsHash(value: string): boolean {
  return HASH_LIKE.test(value) || HASH_LIKE.test(Buffer.from(value.slice(0, 100), 'base64').toString('latin1'));
}

/**
 * Changes an entry by a merge patch: fields of the patch replace those of the entry, objects are merged, null removes a
 * field, and everything else stays. Neither argument is changed. An entry that is no object becomes one.
 */
export function mergePatch(target: unknown, patch: Fields): Fields {
  const merged: Fields = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else define(merged, name, isObject(value) ? mergePatch(merged[name], value) : value);
  }
  return merged;
}

/** The paths of the values that a patch sets or removes: `user.email.email`. */
export function patchedPaths(patch: Fields, path = ''): string[] {
  return Object.entries(patch).flatMap(([name, value]) => {
    const inner = path === '' ? name : `${path}.${name}`;
    return isObject(value) && Object.keys(value).length > 0 ? patchedPaths(value, inner) : [inner];
  });
}

/** A field named `__proto__` must not become the prototype. */
function define(object: Fields, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * Reads a merge patch of an entry as a caller sent it: known fields alone, in camelCase.
 * @throws ApiError 400 IMPORT-USER-INVALID naming every field that an entry does not have
 */
export function readPatch(sent: Fields): Fields {
  const unknown: FieldViolation[] = [];
  const patch = renamed(sent, SHAPE, '', (field) =>
    unknown.push({ field: storable(field), description: 'is not a known field' }),
  );
  if (unknown.length > 0) throw invalidPatch(unknown);
  return patch as Fields;
}

function renamed(value: unknown, shape: Shape | true, path: string, onUnknown: (field: string) => void): unknown {
  if (shape === true || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element, i) => renamed(element, shape, `${path}[${i}]`, onUnknown));
  const fields: Fields = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = path === '' ? name : `${path}.${name}`;
    const known = shape.has(name) ? name : camelCase(name);
    const of = shape.get(known);
    if (of === undefined || Object.hasOwn(fields, known)) onUnknown(field);
    else fields[known] = renamed(inner, of, field, onUnknown);
  }
  return fields;
}

/** 400; the message names the first fields, `violations` all. */
export function invalidPatch(violations: FieldViolation[]): ApiError {
  const first = violations.slice(0, 10).map(({ field, description }) => `${field} ${description}`);
  return invalidArgument('IMPORT-USER-INVALID', `The entry was not changed: ${first.join('; ')}.`, violations);
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Whose failed users are corrected: those of an import, or those of the check of a draft before an import of its entries
 * starts. The users of an import failed as its own items. The errors of a draft are the items of its check, a dry run;
 * the entries are the draft's, which `_start` imports and the next `_check` judges. The item of the check then says that
 * its entry was corrected, or was left out.
 *
 * Guarantee: the entry, the item that failed and the counts change in one transaction, under the lock of the row of the
 * import or draft, so neither a start nor another check sees a part of it.
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { Caller } from '../../contract/permissions.ts';
import { slowMs } from '../../directory/users/slow-hashes.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import type { Imports } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, type ErrorBody } from '../../platform/errors.ts';
import type { Ran } from '../../platform/telemetry.ts';
import { act, type LockedImport, requireData } from '../control/control.ts';
import { type ConversionResult, type Draft, lockDraft } from '../drafts/draft.ts';
import { ERASED, type Item, PAYLOAD } from '../entries/item.ts';
import { type HashCount, openHashLint } from '../entries/notes.ts';
import { forgetFailures, publishEnd } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import type { OrgTally } from '../intake/accept.ts';
import { addAuthor } from '../intake/authority.ts';
import { needsPepper } from '../intake/pepper.ts';
import { bodySources, type UsedSources } from '../intake/requirements.ts';
import { scanItems } from '../status/items.ts';
import {
  type ChangedItem,
  columnsOf,
  correctedBy,
  type FixRules,
  fixedError,
  fixRules,
  requireSourcesOf,
  type StoredRow,
  storedEntry,
  writeChanged,
} from './entry.ts';
import { ENTRY_BYTES } from './report.ts';

/** Errors that are read at a time to find the entries of a cause. */
export const FAILURES = 1000;

const FIXED = fixedError('The entry was corrected. Check the import again, or start it.');

export interface FixDeps {
  pool: Pool;
  secrets: Secrets;
}

export interface Failure {
  ordinal: number;
  error: ErrorBody;
  /** The most bytes that its entry takes. */
  bytes: number;
}

export interface Fixable {
  /** Whose items have failed: the import itself, or the dry run that checked the draft. */
  readonly of: ImportResult;
  /** The import or draft that has the entries. */
  readonly entriesOf: string;
  rules(): Promise<FixRules>;
  /** The next failed items from an ordinal on, at most FAILURES; fewer are the last. */
  failures(from: number): Promise<Failure[]>;
  /** The items with these ordinals and their entries, in order. */
  rows(ordinals: readonly number[]): Promise<StoredRow[]>;
  /**
   * One transaction, in which nothing else changes the state; with an audit event, if something was changed.
   * @param change returns the payload of the event, or false if nothing was changed
   * @throws ApiError 400 when entries cannot be corrected now
   */
  act(type: string, change: (db: Db) => Promise<false | Record<string, unknown>>): Promise<void>;
  /** Returns the ordinals of the items that were written. @throws ApiError 400 IMPORT-PASSWORD-SOURCE */
  write(db: Db, changed: readonly ChangedItem[]): Promise<number[]>;
  /** Returns how many were left out; the others are not failed any more. */
  leaveOut(db: Db, ordinals: readonly number[]): Promise<number>;
}

/** An import, whose failed entries are corrected. */
export function fixableImport({ pool }: FixDeps, caller: Caller, of: ImportResult): Fixable {
  const { importId } = of;
  const where = { itemsOf: importId, entriesOf: importId };
  let ended: Ran | undefined;
  return {
    of,
    entriesOf: importId,
    rules: () => fixRules(pool, importId),
    failures: (from) => readFailures(pool, where, from),
    async rows(ordinals) {
      const stored = await readStored(pool, where, ordinals);
      return stored.length < ordinals.length && of.dryRun ? judgedRows(pool, of, ordinals) : stored;
    },
    async act(type, change) {
      ended = undefined;
      await act(pool, caller, importId, type, async (db, import_) => {
        requireFixable(import_);
        return change(db);
      });
      publishEnd('succeeded', ended);
    },
    write: (db, changed) => writeChanged(db, importId, changed, caller.userId),
    async leaveOut(db, ordinals) {
      const left = await leaveOut(db, importId, ordinals);
      ended = left.ended;
      return left.n;
    },
  };
}

/** A draft after its check. @param check the dry run of its latest check */
export function fixableDraft({ pool, secrets }: FixDeps, caller: Caller, draft: Draft, check: ImportResult): Fixable {
  const { importId } = draft;
  const checkId = check.importId;
  const where = { itemsOf: checkId, entriesOf: importId };
  const { withoutEmail, passwordSource } = draft.result as ConversionResult;
  return {
    of: check,
    entriesOf: importId,
    // Which rule for existing users it starts with is not known yet.
    rules: async () => ({
      onExisting: 'update',
      withoutEmail,
      passwordSource: passwordSource ?? null,
      peppered: await needsPepper(pool, importId),
    }),
    failures: (from) => readFailures(pool, where, from),
    rows: (ordinals) => readStored(pool, where, ordinals),
    act: (type, change) =>
      transaction(pool, async (db) => {
        const now = await lockDraft(db, importId);
        requireState(now, 'fixDraft');
        if (now.checkId !== checkId) throw checkedMeanwhile();
        const payload = await change(db);
        if (payload) await recordChange(db, draft, checkId, { type, editor: caller.userId, payload });
      }),
    async write(db, changed) {
      await requireSourcesOf(db, checkId, changed);
      const written = new Set(await writeEntries(db, { importId, checkId, changed, editor: caller.userId }));
      const done = changed.filter(({ row }) => written.has(row.ordinal));
      await count(
        db,
        importId,
        done.map(({ row, item, entry }) => ({ ...changeOf(row), after: { item, entry } })),
      );
      return [...written];
    },
    async leaveOut(db, ordinals) {
      const rows = (await readStored(db, where, ordinals)).filter(({ state }) => state === 'failed');
      const leaving = rows.map(({ ordinal }) => ordinal);
      await db.query(
        `update import_items set state = 'skipped', error = null, ${ERASED}
         where import_id = $1 and ordinal = any($2::int[])`,
        [importId, leaving],
      );
      await count(db, importId, rows.map(changeOf));
      return (await leaveOut(db, checkId, leaving)).n;
    },
  };

  function changeOf(row: StoredRow): EntryChange {
    // Only invalid entries are stored as a whole.
    return { org: row.org_index, wasFailed: row.entry_sealed !== null, before: storedEntry(row, secrets) };
  }
}

/** Where failed users are, and where their entries are: both in one import, or in a check and its draft. */
interface Where {
  itemsOf: string;
  entriesOf: string;
}

async function readFailures(pool: Pool, { itemsOf, entriesOf }: Where, from: number): Promise<Failure[]> {
  const { rows } = await pool.query<Failure>({
    name: 'fix-page',
    text: `select c.ordinal, c.error, d.bytes from import_items c join lateral (
          select (${ENTRY_BYTES})::float8 as bytes from import_items
          where import_id = $2 and ordinal = c.ordinal offset 0) d on true
      where c.import_id = $1 and c.ordinal >= $3 and c.error is not null and c.state = 'failed'
      order by c.ordinal limit ${FAILURES}`,
    values: [itemsOf, entriesOf, from],
  });
  return rows;
}

/** The entries with these ordinals, in order, with the outcomes of their items: a check stores not every item. */
async function readStored(db: Db, { itemsOf, entriesOf }: Where, ordinals: readonly number[]): Promise<StoredRow[]> {
  const { rows } = await db.query<StoredRow & { item_state: StoredRow['state']; item_error: StoredRow['error'] }>(
    `select d.*, d.xmin::text as version, c.error as item_error,
       coalesce(c.state, (case when d.ordinal < r.judged_to then 'succeeded' else 'pending' end)::item_state) as item_state
     from import_items d left join import_dry_runs r on r.import_id = $1
       left join import_items c on c.import_id = $1 and c.ordinal = d.ordinal and c.ordinal = any($3::int[])
     where d.import_id = $2 and d.ordinal = any($3::int[]) order by d.ordinal`,
    [itemsOf, entriesOf, ordinals],
  );
  return rows.map(({ item_state: state, item_error: error, ...row }) => ({ ...row, state, error }));
}

/** The items of a check, which are not stored if they have no outcome to tell. */
async function judgedRows(pool: Pool, of: ImportResult, ordinals: readonly number[]): Promise<StoredRow[]> {
  const found: StoredRow[] = [];
  for (const from of ordinals) {
    const [row] = await scanItems(pool, of, 1, { from });
    if (row?.ordinal === from) found.push({ ...row, entry_sealed: null, user_name_key: null } as StoredRow);
  }
  return found;
}

function requireFixable(import_: LockedImport): void {
  if (import_.dryRun) throw dryRunKeepsNothing();
  requireState(import_, 'fix');
  requireData(import_);
}

function dryRunKeepsNothing(): ApiError {
  const message = 'A dry run keeps no entries. Correct them in the draft that it checked, or where you sent them from.';
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', message);
}

interface LeftOut {
  /** How many were left out; the others are not failed any more. */
  n: number;
  /** The import, if it has succeeded now: publish this after the commit. */
  ended: Ran | undefined;
}

/**
 * Leaves failed users out: their items become skipped, and their data is erased. Items and counts change in one
 * transaction, in which the caller holds the lock of the import's row. An import of which nothing has failed any more
 * has succeeded.
 */
export async function leaveOut(db: Db, importId: string, ordinals: readonly number[]): Promise<LeftOut> {
  const { rows } = await db.query<Ran & Pick<Imports, 'state'> & { n: number }>(
    `with left_out as (
       update import_items set state = 'skipped', error = null, ${ERASED}
       where import_id = $1 and ordinal = any($2::int[]) and state = 'failed' returning org_index
     ),
     per_org as (select org_index, count(*)::int as n from left_out group by org_index),
     of_orgs as (
       update import_orgs o set failed = o.failed - p.n, skipped = o.skipped + p.n from per_org p
       where o.import_id = $1 and o.org_index = p.org_index
     ),
     counted as (select coalesce(sum(n), 0)::int as n from per_org)
     update imports i set failed = i.failed - c.n, skipped = i.skipped + c.n, reopened = i.reopened + c.n,
       changed_at = clock_timestamp(),
       state = case when i.state = 'completed_with_errors' and i.failed = c.n then 'succeeded' else i.state end
     from counted c where i.id = $1
     returning c.n, i.state, id as "importId", kind, dry_run as "dryRun",
       extract(epoch from finished_at - accepted_at - stood)::float8 as seconds`,
    [importId, ordinals],
  );
  await forgetFailures(db, importId);
  const { n, state, ...ran } = oneRow(rows);
  return { n, ended: n > 0 && state === 'succeeded' ? ran : undefined };
}

/** Appends the event, and lets the draft and its check show that they were changed. */
async function recordChange(
  db: Db,
  { importId, resourceOwner }: Draft,
  checkId: string,
  event: { type: string; editor: string; payload: Record<string, unknown> },
): Promise<void> {
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: importId,
    resourceOwner,
    ...event,
  });
  await db.query(
    `with draft as (update imports set sequence = $3, changed_at = clock_timestamp() where id = $1)
     update imports set sequence = $3 where id = $2`,
    [importId, checkId, sequence],
  );
}

/**
 * Writes changed entries; returns their ordinals. Each is marked as a possible duplicate, as its corrected name may
 * be the name of another entry.
 */
async function writeEntries(
  db: Db,
  {
    importId,
    checkId,
    changed,
    editor,
  }: { importId: string; checkId: string; changed: readonly ChangedItem[]; editor: string },
): Promise<number[]> {
  await addAuthor(db, importId, editor, 'entries');
  const values = changed.map(({ row, item }) => ({ ordinal: row.ordinal, ...columnsOf(item, null) }));
  const columns = ['state', 'user_id', 'user_name', 'error', 'sign_in', 'links', ...PAYLOAD];
  const { rows } = await db.query<{ ordinal: number }>(
    `with changed as (
       update import_items i set maybe_duplicate = true, ${correctedBy('$7')}, ${columns.map((column) => `${column} = r.${column}`).join(', ')}
       from json_populate_recordset(null::import_items, $3::json) r
         join unnest($4::int[], $5::text[]) as seen (ordinal, version) on seen.ordinal = r.ordinal
       where i.import_id = $1 and i.ordinal = any($4) and i.ordinal = r.ordinal and i.xmin::text = seen.version
       returning i.ordinal, i.user_id, i.user_name, i.error)
     update import_items c set error = coalesce(d.error, $6), user_id = d.user_id, user_name = d.user_name
     from changed d where c.import_id = $2 and c.ordinal = any($4) and c.ordinal = d.ordinal returning c.ordinal`,
    [
      importId,
      checkId,
      JSON.stringify(values),
      changed.map(({ row }) => row.ordinal),
      changed.map(({ row }) => row.version),
      JSON.stringify(FIXED),
      editor,
    ],
  );
  await forgetFailures(db, checkId);
  return rows.map(({ ordinal }) => ordinal);
}

async function count(db: Db, importId: string, changes: readonly EntryChange[]): Promise<void> {
  const { rows } = await db.query<{ result: ConversionResult }>(
    'select result from import_preparations where import_id = $1',
    [importId],
  );
  const result = JSON.stringify(countChanges(oneRow(rows).result, changes));
  await db.query('update import_preparations set result = $2 where import_id = $1', [importId, result]);
}

function checkedMeanwhile(): ApiError {
  return new ApiError(
    'ABORTED',
    'IMPORT-ITEM-CHANGED',
    'The import was checked again meanwhile. Read its causes again.',
  );
}

/** How the correction of an entry changes what a draft counts. */
interface EntryChange {
  /** The organization's number in the draft. */
  org: number;
  /** Whether the entry was invalid before. */
  wasFailed: boolean;
  before: unknown;
  /** Absent if the user was left out. */
  after?: { item: Item; entry: unknown };
}

/**
 * The result of the conversion with these changes of entries; a corrected name may now be the name of another entry.
 */
function countChanges(result: ConversionResult, changes: readonly EntryChange[]): ConversionResult {
  const orgs = result.orgs.map((org) => ({ ...org }));
  const sources = bodySources(undefined);
  let { slowestMs } = result;
  for (const { org, wasFailed, after } of changes) {
    const tally = orgs[org] as OrgTally;
    if (wasFailed) tally.failed--;
    if (!after) tally.skipped = (tally.skipped ?? 0) + 1;
    else if (after.item.state === 'failed') tally.failed++;
    else if (after.item.passwordHash !== null) {
      slowestMs = Math.max(slowestMs, slowMs(after.item.passwordHash));
      sources.take(org, after.item);
    }
  }
  return {
    ...result,
    orgs,
    slowestMs,
    failed: orgs.reduce((sum, { failed }) => sum + failed, 0),
    hasDuplicates: result.hasDuplicates || changes.some(({ after }) => after !== undefined),
    hashes: hashesAfter(result.hashes as HashCount[], changes),
    sources: [...(result.sources ?? []), ...sources.used()] satisfies UsedSources,
    signIns: result.signIns && 'changed',
  };
}

function hashesAfter(hashes: readonly HashCount[], changes: readonly EntryChange[]): HashCount[] {
  const [lost, gained] = [openHashLint(), openHashLint()];
  for (const { before, after } of changes) {
    lost.see(before);
    if (after) gained.see(after.entry);
  }
  const found = hashes.map((count) => ({ ...count }));
  const change = (sign: 1 | -1) => (count: HashCount) => {
    const known = found.find(({ scheme, verifiable }) => scheme === count.scheme && verifiable === count.verifiable);
    if (known) known.users += sign * count.users;
    else if (sign === 1) found.push(count);
  };
  lost.list().forEach(change(-1));
  gained.list().forEach(change(1));
  return found.filter(({ users }) => users > 0);
}

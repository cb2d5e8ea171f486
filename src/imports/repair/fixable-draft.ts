/**
 * A draft after its check: its entries are corrected before an import of them starts.
 *
 * The errors come from the items of the check, a dry run; the entries belong to the draft, which `_start` imports
 * and the next `_check` judges. The item of the check then says that its entry was corrected, or was left out.
 *
 * Guarantee: the entry, the item of the check and the counts of the draft change in one transaction, under the lock of
 * the draft's row, so neither a start nor another check sees a part of it.
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { Caller } from '../../contract/permissions.ts';
import { slowMs } from '../../directory/users/slow-hashes.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { type ConversionResult, type Draft, lockDraft } from '../drafts/draft.ts';
import { ERASED, type Item, PAYLOAD } from '../entries/item.ts';
import { type HashCount, openHashLint } from '../entries/notes.ts';
import { forgetFailures } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import type { OrgTally } from '../intake/accept.ts';
import { addAuthor } from '../intake/authority.ts';
import { needsPepper } from '../intake/pepper.ts';
import { bodySources, type UsedSources } from '../intake/requirements.ts';
import {
  type ChangedItem,
  columnsOf,
  correctedBy,
  fixedError,
  requireSourcesOf,
  type StoredRow,
  storedEntry,
} from './entry.ts';
import { FAILURES, type Failure, type Fixable, type FixDeps, leaveOut } from './fixable.ts';
import { ENTRY_BYTES } from './report.ts';

const FIXED = fixedError('The entry was corrected. Check the import again, or start it.');

/** @param check the dry run of its latest check */
export function fixableDraft({ pool, secrets }: FixDeps, caller: Caller, draft: Draft, check: ImportResult): Fixable {
  const { importId } = draft;
  const checkId = check.importId;
  const { withoutEmail, passwordSource } = draft.result as ConversionResult;
  return {
    of: check,
    // Which rule for existing users it starts with is not known yet.
    rules: async () => ({
      onExisting: 'update',
      withoutEmail,
      passwordSource: passwordSource ?? null,
      peppered: await needsPepper(pool, importId),
    }),
    failures: (from) => failures(pool, { importId, checkId, from }),
    rows: (ordinals) => rowsOf(pool, { importId, checkId, ordinals }),
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
      const rows = (await rowsOf(db, { importId, checkId, ordinals })).filter(({ state }) => state === 'failed');
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
    `with draft as (
       update import_drafts set sequence = $3, changed_at = clock_timestamp() where import_id = $1)
     update imports set sequence = $3 where id = $2`,
    [importId, checkId, sequence],
  );
}

async function failures(
  pool: Pool,
  { importId, checkId, from }: { importId: string; checkId: string; from: number },
): Promise<Failure[]> {
  const { rows } = await pool.query<Failure>({
    name: 'draft-fix-page',
    text: `select c.ordinal, c.error, d.bytes from import_items c join lateral (
          select (${ENTRY_BYTES})::float8 as bytes from import_items
          where import_id = $1 and ordinal = c.ordinal offset 0) d on true
      where c.import_id = $2 and c.ordinal >= $3 and c.error is not null and c.state = 'failed'
      order by c.ordinal limit ${FAILURES}`,
    values: [importId, checkId, from],
  });
  return rows;
}

/** The entries of the draft, with the outcomes of the check. */
async function rowsOf(
  db: Db,
  { importId, checkId, ordinals }: { importId: string; checkId: string; ordinals: readonly number[] },
): Promise<StoredRow[]> {
  const { rows } = await db.query<StoredRow & { checked_state: StoredRow['state']; checked_error: StoredRow['error'] }>(
    `select d.*, d.xmin::text as version, c.error as checked_error,
       coalesce(c.state, (case when d.ordinal < r.judged_to then 'succeeded' else 'pending' end)::item_state) as checked_state
     from import_items d join import_dry_runs r on r.import_id = $2
       left join import_items c on c.import_id = $2 and c.ordinal = d.ordinal and c.ordinal = any($3::int[])
     where d.import_id = $1 and d.ordinal = any($3::int[]) order by d.ordinal`,
    [importId, checkId, ordinals],
  );
  return rows.map(({ checked_state: state, checked_error: error, ...row }) => ({ ...row, state, error }));
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
  const columns = ['state', 'user_id', 'user_name', 'error', 'sign_in', ...PAYLOAD];
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
    'select result from import_drafts where import_id = $1',
    [importId],
  );
  const result = countChanges((rows[0] as { result: ConversionResult }).result, changes);
  await db.query('update import_drafts set result = $2 where import_id = $1', [importId, JSON.stringify(result)]);
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

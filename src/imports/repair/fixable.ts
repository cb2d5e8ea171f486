/**
 * Whose entries are corrected: an import, as here, or a draft after its check (fixable-draft.ts).
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { Caller } from '../../contract/permissions.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import type { Imports } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, type ErrorBody } from '../../platform/errors.ts';
import type { Ran } from '../../platform/telemetry.ts';
import { act, type LockedImport, requireData } from '../control/control.ts';
import { ERASED } from '../entries/item.ts';
import { forgetFailures, publishEnd } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import { scanItems } from '../status/items.ts';
import { type ChangedItem, type FixRules, fixRules, readStored, type StoredRow, writeChanged } from './entry.ts';
import { ENTRY_BYTES } from './report.ts';

/** Errors that are read at a time to find the entries of a cause. */
export const FAILURES = 1000;

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
  let ended: Ran | undefined;
  return {
    of,
    rules: () => fixRules(pool, importId),
    async failures(from) {
      const { rows } = await pool.query<Failure>({
        name: 'fix-page',
        text: `select ordinal, error, (${ENTRY_BYTES})::float8 as bytes from import_items
          where import_id = $1 and ordinal >= $2 and error is not null and state = 'failed'
          order by ordinal limit ${FAILURES}`,
        values: [importId, from],
      });
      return rows;
    },
    async rows(ordinals) {
      const stored = await readStored(pool, importId, ordinals);
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

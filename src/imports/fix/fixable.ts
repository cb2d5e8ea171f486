/** Whose entries are corrected: an import, as here, or a draft after its check (draft.ts). */
import type { Caller } from '../../access/caller.ts';
import type { Db, Pool } from '../../db/pool.ts';
import { ApiError, type ErrorBody } from '../../errors.ts';
import type { Ran } from '../../observations.ts';
import type { Secrets } from '../../secrets.ts';
import type { ImportResult } from '../answers.ts';
import { act, type LockedImport, requireData, requireState } from '../control/action.ts';
import { publishEnd } from '../ended.ts';
import { ENTRY_BYTES } from '../report/payload-pages.ts';
import { leaveOut } from './leave-out.ts';
import { type ChangedItem, type FixRules, fixRules, readStored, type StoredRow, writeChanged } from './stored.ts';

export interface FixDeps {
  pool: Pool;
  secrets: Secrets;
}

export interface Failure {
  ordinal: number;
  error: ErrorBody;
  /** At most, of its entry. */
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

/** Errors that are read at a time to find the entries of a cause. */
export const FAILURES = 1000;
const ALLOWED_STATES = ['running', 'paused', 'completed_with_errors', 'timed_out', 'cancelled'];

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
    rows: (ordinals) => readStored(pool, importId, ordinals),
    async act(type, change) {
      ended = undefined;
      await act(pool, caller, importId, type, async (db, import_) => {
        requireFixable(import_);
        return change(db);
      });
      publishEnd('succeeded', ended);
    },
    write: (db, changed) => writeChanged(db, importId, changed),
    async leaveOut(db, ordinals) {
      const left = await leaveOut(db, importId, ordinals);
      ended = left.ended;
      return left.n;
    },
  };
}

function requireFixable(import_: LockedImport): void {
  if (import_.dryRun) throw dryRunKeepsNothing();
  requireState(import_, ALLOWED_STATES, 'corrected');
  requireData(import_);
}

function dryRunKeepsNothing(): ApiError {
  const message = 'A dry run keeps no entries. Correct them in the draft that it checked, or where you sent them from.';
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', message);
}

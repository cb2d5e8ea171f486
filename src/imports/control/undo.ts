/**
 * Undo, as a job: removes exactly the users that an import created and who have neither signed in nor been changed since.
 *
 * Guarantee: bounded memory, time linear in the import. The action says that the import is being undone, and the holder of
 * a duty does it, batch by batch (undo-batch.ts). If we die here the import is `undoing`, and the next holder goes on
 * where the last commit ended.
 */

import type { Caller } from '../../access/caller.ts';
import type { Db, Pool } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { act, requireState } from './action.ts';
import { type Undoing, undoBatch } from './undo-batch.ts';

/** Why users were left alone, as the items show it. */
export const KEPT = ['SIGNED_IN', 'CHANGED', 'MEMBER', 'DELETED', 'NOT_CREATED'] as const;

const FITTING = ['paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'];

/**
 * Begins to undo an import that does not run; `undoRound` does it.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function undoImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.undo.started', async (db, import_) => {
    if (['undoing', 'undone'].includes(import_.state)) return false;
    requireState(import_, FITTING, 'undone');
    if (import_.dryRun) throw nothingToUndo();
    await db.query(
      `update imports set state = 'undoing', undo_by = $2, changed_at = clock_timestamp(), paused_at = null,
         finished_at = coalesce(finished_at, paused_at, clock_timestamp()) where id = $1`,
      [importId, caller.userId],
    );
    return true;
  });
}

function nothingToUndo(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', 'A dry run has written nobody.');
}

export async function isAnyUndoing(db: Db): Promise<boolean> {
  return (await db.query(`select from imports where state = 'undoing' limit 1`)).rowCount === 1;
}

/**
 * One batch of `batch` items of each import that is being undone; what one of them meets does not stop the others.
 * @throws the first fault
 */
export async function undoRound(pool: Pool, batch: number): Promise<void> {
  const { rows } = await pool.query<Undoing>(
    `select id, undo_next, total from imports where state = 'undoing' order by id`,
  );
  const faults: unknown[] = [];
  for (const row of rows) {
    await undoBatch(pool, row, Math.min(row.undo_next + batch, row.total)).catch((fault) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
}

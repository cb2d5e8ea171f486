/**
 * Undo: removes exactly the users that an import created and who have neither signed in nor been changed since.
 *
 * Guarantee: bounded memory, time linear in the import. The action only sets the state `undoing`; the worker process
 * that holds the lease `undoer` then does the work, batch by batch (undo-batch.ts). On crash: the import stays
 * `undoing`, and the next holder of the lease continues after the last committed batch.
 */

import type { Caller } from '../../access/caller.ts';
import type { Db, Pool } from '../../db/pool.ts';
import { inImport } from '../../spans.ts';
import { act, requireState } from './action.ts';
import { type Undoing, undoBatch } from './undo-batch.ts';
import { nothingToUndo } from './undo-preview.ts';

/** Why an undo kept a user, as the items show it. */
export const KEPT = ['SIGNED_IN', 'CHANGED', 'MEMBER', 'DELETED', 'NOT_CREATED'] as const;

/** Users of a batch. Larger batches are hardly cheaper, and lock the import and its users for longer. */
export const UNDO_BATCH = 1000;

const ALLOWED_STATES = ['paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'];

/**
 * Starts the undo of an import that does not run; `undoRound` does the work.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function undoImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.undo.started', async (db, import_) => {
    if (['undoing', 'undone'].includes(import_.state)) return false;
    requireState(import_, ALLOWED_STATES, 'undone');
    if (import_.dryRun) throw nothingToUndo();
    await db.query(
      `update imports set state = 'undoing', undo_by = $2, changed_at = clock_timestamp(), paused_at = null,
         finished_at = coalesce(finished_at, paused_at, clock_timestamp()) where id = $1`,
      [importId, caller.userId],
    );
    return true;
  });
}

export async function isAnyUndoing(db: Db): Promise<boolean> {
  return (await db.query(`select from imports where state = 'undoing' limit 1`)).rowCount === 1;
}

/**
 * Undoes one batch of `batch` items of each import that is being undone. An error in one does not stop the others.
 * @throws the first error, after all imports had their batch
 */
export async function undoRound(pool: Pool, batch: number): Promise<void> {
  const { rows } = await pool.query<Undoing>(
    `select id, undo_next, total from imports where state = 'undoing' order by id`,
  );
  const faults: unknown[] = [];
  for (const row of rows) {
    const undo = () => undoBatch(pool, row, Math.min(row.undo_next + batch, row.total));
    await inImport(row.id, 'import.undo', {}, undo).catch((fault) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
}

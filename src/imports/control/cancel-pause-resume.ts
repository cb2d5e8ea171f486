/**
 * Stopping and continuing an import: cancel, pause, resume. (Retry and undo have files of their own.)
 *
 * Guarantee: no user is written after a cancel or a pause was answered. While an import is paused its clock is stopped,
 * so it resumes with the time it had left. The actions are idempotent: repeating one has no further effect. In a state
 * that does not allow it, an action answers FAILED_PRECONDITION and changes nothing.
 */

import type { Caller } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import type { Ran } from '../../observations.ts';
import { publishEnd, RAN } from '../ended.ts';
import { resetCursor } from '../run/dispatch.ts';
import {
  act,
  MOVED_DEADLINE,
  type NewTimeout,
  requireData,
  requireGoodTimeout,
  requireState,
  requireTimeLeft,
  runAgain,
} from './action.ts';

/** Stops the import until it is resumed. Unlike in a pause, its clock runs on, even if it was paused before. */
export async function cancelImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  let ran: Ran | undefined;
  await act(pool, caller, importId, 'import.cancelled', async (db, import_) => {
    if (import_.state === 'cancelled') return false;
    requireState(import_, ['running', 'paused'], 'cancelled');
    const { rows } = await db.query<Ran>(
      `update imports set state = 'cancelled', changed_at = clock_timestamp(), finished_at = clock_timestamp(),
         deadline = ${MOVED_DEADLINE}, stood = stood + coalesce(clock_timestamp() - paused_at, '0'), paused_at = null
       where id = $1 returning ${RAN}`,
      [importId],
    );
    [ran] = rows;
    return true;
  });
  publishEnd('cancelled', ran);
}

/** Stops the import and its clock until it is resumed. */
export async function pauseImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.paused', async (db, import_) => {
    if (import_.state === 'paused') return false;
    requireState(import_, ['running'], 'paused');
    await db.query(
      `update imports set state = 'paused', changed_at = clock_timestamp(), paused_at = clock_timestamp() where id = $1`,
      [importId],
    );
    return true;
  });
}

/**
 * Continues with exactly the items that are pending.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-TIMEOUT, IMPORT-ERASED
 */
export async function resumeImport(pool: Pool, caller: Caller, importId: string, timeout: NewTimeout): Promise<void> {
  requireGoodTimeout(timeout);
  await act(pool, caller, importId, 'import.resumed', async (db, import_) => {
    if (import_.state === 'running') return false;
    requireState(import_, ['timed_out', 'cancelled', 'paused'], 'resumed');
    requireData(import_);
    requireTimeLeft(import_, timeout);
    await runAgain(db, importId, timeout, 'resume');
    await resetCursor(db, importId, true);
    return true;
  });
}

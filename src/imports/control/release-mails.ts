/**
 * `_send_mails`: the mails of an import that held them go out.
 *
 * A mail that is due is written with its user in any case; while they are held the relay passes the import by, so asking
 * for them is one change of one row, whatever the import's size and whether or not it still runs. A user who has verified
 * the address, set a password or is gone by then has taken its mail along (mail/codes.ts).
 * If we die before the commit, nothing has happened.
 */

import type { Caller } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { act, requireState } from './action.ts';

const FITTING = ['running', 'paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'];

/**
 * Lets mails that wait go out, and those of users who are still to be written as they come. When none are held nothing
 * changes.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function releaseMails(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.mails.released', async (db, import_) => {
    requireState(import_, FITTING, 'asked for its mails');
    if (import_.dryRun) throw new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', 'A dry run has no mails to send.');
    const { rowCount } = await db.query(
      `update imports set mails = 'released', changed_at = clock_timestamp() where id = $1 and mails = 'held'`,
      [importId],
    );
    return rowCount === 1;
  });
}

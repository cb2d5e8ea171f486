/**
 * `_send_mails`: sends the mails that an import holds (`mails=none`).
 *
 * A mail that is due is always written together with its user. While an import holds its mails, the relay skips them;
 * so this action changes one row, whatever the size of the import and whether or not it still runs. If a user has since
 * verified their address, set a password or been deleted, their mail no longer exists (mail/codes.ts).
 * On crash before the commit: nothing has happened.
 */

import type { Caller } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { act, requireState } from './action.ts';

const ALLOWED_STATES = ['running', 'paused', 'succeeded', 'completed_with_errors', 'timed_out', 'cancelled'];

/**
 * Releases the held mails; those of users yet to be written are sent as they are written. Without held mails, does
 * nothing.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function releaseMails(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.mails.released', async (db, import_) => {
    requireState(import_, ALLOWED_STATES, 'asked to send its mails');
    if (import_.dryRun) throw new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', 'A dry run has no mails to send.');
    const { rowCount } = await db.query(
      `update imports set mails = 'released', changed_at = clock_timestamp() where id = $1 and mails = 'held'`,
      [importId],
    );
    return rowCount === 1;
  });
}

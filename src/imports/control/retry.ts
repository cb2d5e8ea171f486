/**
 * Retry: failed items become pending again, and the import runs.
 *
 * Guarantee: a single transaction, so the counts are right at every moment. Only items that failed in the database are
 * retried, such as conflicts and users that PostgreSQL refused. An invalid entry stays failed, as retrying cannot fix
 * it; the report returns it to be corrected. On crash before the commit: nothing has happened.
 */

import type { Caller } from '../../access/caller.ts';
import { allowLong } from '../../db/limits.ts';
import type { Db, Pool } from '../../db/pool.ts';
import { forgetFailures } from '../failures.ts';
import { resetCursor } from '../run/dispatch.ts';
import {
  act,
  type NewTimeout,
  requireData,
  requireGoodTimeout,
  requireState,
  requireTimeLeft,
  runAgain,
} from './action.ts';

const ALLOWED_STATES = ['completed_with_errors', 'timed_out', 'cancelled', 'paused'];

/**
 * Retries the failed items; items that are still pending are processed too. Without failed items, does nothing.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-TIMEOUT, IMPORT-ERASED
 */
export async function retryImport(pool: Pool, caller: Caller, importId: string, timeout: NewTimeout): Promise<void> {
  requireGoodTimeout(timeout);
  await act(pool, caller, importId, 'import.retried', async (db, import_) => {
    // A repeated retry, before or after all items succeeded.
    if (import_.retried && ['running', 'succeeded'].includes(import_.state)) return false;
    requireState(import_, ALLOWED_STATES, 'retried');
    requireData(import_);
    requireTimeLeft(import_, timeout);
    if ((await reopenFailed(db, importId)) === 0) return false;
    await runAgain(db, importId, timeout, 'retry');
    await resetCursor(db, importId, true);
    return true;
  });
}

/** Returns how many items are pending again. */
async function reopenFailed(db: Db, importId: string): Promise<number> {
  await allowLong(db);
  const { rows } = await db.query<{ n: number }>(
    `with reopened as (
       update import_items set state = 'pending', error = null
       where import_id = $1 and error is not null and state = 'failed' and user_name_key is not null returning org_index
     ),
     per_org as (select org_index, count(*)::int as n from reopened group by org_index),
     of_orgs as (
       update import_orgs o set failed = o.failed - p.n from per_org p
       where o.import_id = $1 and o.org_index = p.org_index
     ),
     counted as (select coalesce(sum(n), 0)::int as n from per_org)
     update imports i set failed = i.failed - c.n, reopened = i.reopened + c.n from counted c where i.id = $1 returning c.n`,
    [importId],
  );
  await forgetFailures(db, importId);
  return rows[0]?.n ?? 0;
}

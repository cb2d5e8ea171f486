/**
 * What a caller may do to a running import: cancel it, and go on with what is left.
 *
 * Guarantee: every action takes the import's row lock first, so no batch commits after a cancel was answered. Twice is as
 * once; in a state it does not fit an action answers FAILED_PRECONDITION and changes nothing.
 */
import { appendEvent } from '../db/events.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { ApiError, invalidArgument } from '../errors.ts';
import type { Caller } from '../identity/caller.ts';
import { resetCursor } from './dispatch.ts';
import { parseDuration, timeoutProblem } from './duration.ts';

interface Locked {
  state: string;
  resource_owner: string;
  /** The deadline has passed. */
  overdue: boolean;
}

/** Stops the import: no user of it is written after this returns. */
export async function cancelImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.cancelled', async (db, import_) => {
    if (import_.state === 'cancelled') return false;
    if (import_.overdue || !['running', 'paused'].includes(import_.state)) throw unfit('cancelled', import_);
    await db.query(
      `update imports set state = 'cancelled', changed_at = clock_timestamp(), finished_at = clock_timestamp() where id = $1`,
      [importId],
    );
    return true;
  });
}

/**
 * Goes on with exactly the items that are pending.
 * @param timeout Go duration from now; required when the deadline has passed
 */
export async function resumeImport(
  pool: Pool,
  caller: Caller,
  importId: string,
  timeout: string | undefined,
  maxTimeout: string,
): Promise<void> {
  const problem = timeout === undefined ? undefined : timeoutProblem(timeout, maxTimeout);
  if (problem) throw badTimeout(problem);
  await act(pool, caller, importId, 'import.resumed', async (db, import_) => {
    if (import_.state === 'running' && !import_.overdue) return false;
    if (!['running', 'timed_out', 'cancelled', 'paused'].includes(import_.state)) throw unfit('resumed', import_);
    if (timeout === undefined && import_.overdue) throw badTimeout('is required, as the deadline has passed');
    await db.query(
      `update imports set state = 'running', changed_at = clock_timestamp(), finished_at = null,
         timeout = coalesce($2, timeout),
         deadline = coalesce(clock_timestamp() + $3 * interval '1 millisecond', deadline)
       where id = $1`,
      [importId, timeout ?? null, timeout === undefined ? null : parseDuration(timeout)],
    );
    await resetCursor(db, importId, true);
    return true;
  });
}

/** Runs `change` with the import's row locked; when it changed something, appends the event. */
async function act(
  pool: Pool,
  caller: Caller,
  importId: string,
  type: string,
  change: (db: Db, import_: Locked) => Promise<boolean>,
): Promise<void> {
  await transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rows } = await db.query<Locked>(
      'select state, resource_owner, deadline <= clock_timestamp() as overdue from imports where id = $1',
      [importId],
    );
    const import_ = rows[0] as Locked;
    if (!(await change(db, import_))) return;
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: import_.resource_owner,
      type,
      editor: caller.userId,
    });
    await db.query('update imports set sequence = $2 where id = $1', [importId, sequence]);
    await db.query(`select pg_notify('muster_import', $1)`, [importId]);
  });
}

function unfit(action: string, import_: Locked): ApiError {
  const state = import_.state === 'running' && import_.overdue ? 'timed_out' : import_.state;
  return new ApiError(
    'FAILED_PRECONDITION',
    'IMPORT-STATE',
    `An import in state IMPORT_STATE_${state.toUpperCase()} cannot be ${action}.`,
  );
}

function badTimeout(problem: string): ApiError {
  return invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}`, [{ field: 'timeout', description: problem }]);
}

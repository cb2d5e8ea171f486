/**
 * What all actions on an import (cancel, pause, resume, retry, undo, send mails) have in common. An action locks the
 * import's row first, so no batch can commit without the action seeing its result. It writes an audit event with its
 * change. It is idempotent: repeating it has no further effect. In a state that does not allow it, it is refused.
 * On crash before the commit: nothing has happened.
 */

import type { Caller } from '../../access/caller.ts';
import { appendEvent } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { parseDuration, timeoutProblem } from '../duration.ts';
import { importNotFound } from '../status/progress.ts';

/** An import whose row is locked. */
export interface LockedImport {
  /** `timed_out` as soon as the deadline has passed, even if the table still says `running`. */
  state: string;
  resourceOwner: string;
  /** The deadline has passed. Never true of a paused import, whose clock is stopped. */
  overdue: boolean;
  /** The data of its remaining users has been erased, or is being erased, so nothing can run again. */
  erased: boolean;
  /** It validates users but writes none. */
  dryRun: boolean;
  /** It was last started by a retry. */
  retried: boolean;
}

const LOCKED = `
  select case when overdue and state = 'running' then 'timed_out' else state::text end as state,
    resource_owner as "resourceOwner", overdue, erased, dry_run as "dryRun", retried
  from (
    select i.state, i.resource_owner, i.paused_at is null and i.deadline <= clock_timestamp() as overdue,
      i.erased_to is not null as erased, i.dry_run, i.retried
    from imports i where i.id = $1 and i.removed_to is null) import`;

/**
 * Runs `change` with the import's row locked; if it changed something, appends the event.
 * @param change returns whether it changed anything; the payload of the event, if it has one
 * @throws ApiError 404 when the import has been removed
 */
export async function act(
  pool: Pool,
  caller: Caller,
  importId: string,
  type: string,
  change: (db: Db, import_: LockedImport) => Promise<boolean | Record<string, unknown>>,
): Promise<void> {
  await transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rows } = await db.query<LockedImport>(LOCKED, [importId]);
    const [import_] = rows;
    if (!import_) throw importNotFound();
    const changed = await change(db, import_);
    if (!changed) return;
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: import_.resourceOwner,
      type,
      editor: caller.userId,
      ...(changed === true ? {} : { payload: changed }),
    });
    await db.query('update imports set sequence = $2 where id = $1', [importId, sequence]);
    await db.query(`select pg_notify('muster_import', $1)`, [importId]);
  });
}

export interface NewTimeout {
  /** A Go duration from now, as the caller sent it; absent: the time left of the old timeout. */
  timeout: string | undefined;
  /** The longest allowed. */
  max: string;
}

/** @throws ApiError 400 IMPORT-TIMEOUT unless the timeout is absent or valid */
export function requireGoodTimeout({ timeout, max }: NewTimeout): void {
  const problem = timeout === undefined ? undefined : timeoutProblem(timeout, max);
  if (problem) throw badTimeout(problem);
}

/** @throws ApiError 400 IMPORT-TIMEOUT when the deadline has passed and no new timeout is given */
export function requireTimeLeft(import_: LockedImport, { timeout }: NewTimeout): void {
  if (timeout === undefined && import_.overdue) throw badTimeout('is required, as the deadline has passed');
}

/**
 * Makes the import run again, for `timeout` or for the time that was left. The time in which it did not run does not
 * count in its rate, and the time in which it was paused does not count against its deadline.
 */
export async function runAgain(
  db: Db,
  importId: string,
  { timeout }: NewTimeout,
  by: 'resume' | 'retry',
): Promise<void> {
  await db.query(
    `update imports set state = 'running', changed_at = clock_timestamp(), finished_at = null, paused_at = null,
       retried = $4,
       stood = stood + coalesce(clock_timestamp() - coalesce(paused_at, finished_at), '0'),
       timeout = coalesce($2, timeout),
       deadline = case when $3::float8 is null then ${MOVED_DEADLINE}
         else clock_timestamp() + $3 * interval '1 millisecond' end
     where id = $1`,
    [importId, timeout ?? null, timeout === undefined ? null : parseDuration(timeout), by === 'retry'],
  );
}

/** SQL: the deadline moved by the time since the pause began, as the clock of a paused import is stopped. */
export const MOVED_DEADLINE = `deadline + coalesce(clock_timestamp() - paused_at, '0')`;

/** @param done completes "An import cannot be …". @throws ApiError 400 unless the import is in one of the states */
export function requireState(import_: LockedImport, states: readonly string[], done: string): void {
  if (states.includes(import_.state)) return;
  const shown = (state: string) => `IMPORT_STATE_${state.toUpperCase()}`;
  throw new ApiError(
    'FAILED_PRECONDITION',
    'IMPORT-STATE',
    `An import in state ${shown(import_.state)} cannot be ${done}. It must be in state ${states.map(shown).join(' or ')}.`,
  );
}

/** @throws ApiError 400 when the data of the remaining users has been erased */
export function requireData(import_: LockedImport): void {
  if (!import_.erased) return;
  throw new ApiError(
    'FAILED_PRECONDITION',
    'IMPORT-ERASED',
    'The data of the remaining users was erased at the end of the retention time. Send these users in a new import.',
  );
}

function badTimeout(problem: string): ApiError {
  return invalidArgument('IMPORT-TIMEOUT', `timeout ${problem}.`, [{ field: 'timeout', description: problem }]);
}

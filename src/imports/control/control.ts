/**
 * The actions on an import: cancel, pause, resume, retry, send mails. (Undo has a file of its own.)
 *
 * An action locks the import's row first, so no batch can commit without the action seeing its result, and writes an
 * audit event with its change. While an import is paused its clock is stopped, so it resumes with the time it had
 * left.
 *
 * Guarantee: an action is one transaction. No user is written after a cancel or a pause was answered. The actions are
 * idempotent: repeating one has no further effect. In a state that does not allow it (entries/states.ts), an action
 * answers FAILED_PRECONDITION and changes nothing.
 */
import { parseDuration } from '../../contract/import-options.ts';
import type { Caller } from '../../contract/permissions.ts';
import { requireWithinLimits } from '../../directory/organization-limits.ts';
import { allowLong } from '../../platform/db/client.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { ImportOrgs, Imports } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Ran } from '../../platform/telemetry.ts';
import { badTimeout, requireTimeout } from '../entries/options.ts';
import { forgetFailures, publishEnd, RAN } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import { requireAuthors } from '../intake/authority.ts';
import { resetCursor } from '../run/dispatch.ts';
import { importNotFound } from '../status/progress.ts';

/** SQL: the deadline moved by the time since the pause began, as the clock of a paused import is stopped. */
const MOVED_DEADLINE = `deadline + coalesce(clock_timestamp() - paused_at, '0')`;

const LOCKED = `
  select case when overdue and state = 'running' then 'timed_out' else state::text end as state,
    resource_owner as "resourceOwner", overdue, erased, dry_run as "dryRun", retried
  from (
    select i.state, i.resource_owner, i.paused_at is null and i.deadline <= clock_timestamp() as overdue,
      i.erased_to is not null as erased, i.dry_run, i.retried
    from imports i where i.id = $1 and i.removed_to is null) import`;

/** An import whose row is locked. */
export interface LockedImport extends Named<Imports, { resourceOwner: 'resource_owner'; retried: 'retried' }> {
  /** `timed_out` as soon as the deadline has passed, even if the table still says `running`. */
  state: string;
  /** The deadline has passed. Never true of a paused import, whose clock is stopped. */
  overdue: boolean;
  /** The data of its remaining users has been erased, or is being erased, so nothing can run again. */
  erased: boolean;
  /** It validates users but writes none. */
  dryRun: Imports['dry_run'];
}

export interface NewTimeout {
  /** A Go duration from now, as the caller sent it; absent: the time left of the old timeout. */
  timeout: string | undefined;
  /** The longest allowed. */
  max: string;
}

/** Stops the import until it is resumed. Unlike in a pause, its clock runs on, even if it was paused before. */
export async function cancelImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  let ran: Ran | undefined;
  await act(pool, caller, importId, 'import.cancelled', async (db, import_) => {
    if (import_.state === 'cancelled') return false;
    requireState(import_, 'cancel');
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
    requireState(import_, 'pause');
    await db.query(
      `update imports set state = 'paused', changed_at = clock_timestamp(), paused_at = clock_timestamp() where id = $1`,
      [importId],
    );
    return true;
  });
}

/**
 * Continues with exactly the items that are pending.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-TIMEOUT, IMPORT-ERASED, IMPORT-RIGHTS, ORG-LIMIT-USERS; 429 ORG-LIMIT-IMPORTS
 */
export async function resumeImport(pool: Pool, caller: Caller, importId: string, timeout: NewTimeout): Promise<void> {
  if (timeout.timeout !== undefined) requireTimeout(timeout.timeout, timeout.max);
  const resume = async (db: Db, import_: LockedImport) => {
    if (import_.state === 'running') return false;
    requireState(import_, 'resume');
    requireData(import_);
    requireTimeLeft(import_, timeout);
    await runAgain(db, importId, timeout, { caller, isRetry: false });
    await resetCursor(db, importId, true);
    return true;
  };
  await act(pool, caller, importId, 'import.resumed', resume, requireRights);
}

/**
 * Retries the failed items: they become pending again, and the import runs. Items that are still pending are processed
 * too. Without failed items, does nothing.
 *
 * Only items that failed in the database are retried, such as conflicts and users that PostgreSQL refused. An invalid
 * entry stays failed, as retrying cannot fix it; the report returns it to be corrected.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-TIMEOUT, IMPORT-ERASED, IMPORT-RIGHTS, ORG-LIMIT-USERS; 429 ORG-LIMIT-IMPORTS
 */
export async function retryImport(pool: Pool, caller: Caller, importId: string, timeout: NewTimeout): Promise<void> {
  if (timeout.timeout !== undefined) requireTimeout(timeout.timeout, timeout.max);
  const retry = async (db: Db, import_: LockedImport) => {
    // A repeated retry, before or after all items succeeded.
    if (import_.retried && ['running', 'succeeded'].includes(import_.state)) return false;
    requireState(import_, 'retry');
    requireData(import_);
    requireTimeLeft(import_, timeout);
    if ((await reopenFailed(db, importId)) === 0) return false;
    await runAgain(db, importId, timeout, { caller, isRetry: true });
    await resetCursor(db, importId, true);
    return true;
  };
  await act(pool, caller, importId, 'import.retried', retry, requireRights);
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
     update imports i set failed = i.failed - c.n, reopened = i.reopened + c.n,
       sign_ins_of = case when c.n > 0 and i.sign_ins_of is not null then '' else i.sign_ins_of end from counted c where i.id = $1 returning c.n`,
    [importId],
  );
  await forgetFailures(db, importId);
  return rows[0]?.n ?? 0;
}

/**
 * `_send_mails`: releases the mails that an import holds (`mails=none`); mails of users yet to be written are sent as
 * they are written. Without held mails, does nothing.
 *
 * A mail that is due is always written together with its user. While an import holds its mails, the relay skips them;
 * so this action changes one row, whatever the size of the import and whether or not it still runs. If a user has
 * since verified their address, set a password or been deleted, their mail no longer exists (`revokeCodes`).
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function releaseMails(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.mails.released', async (db, import_) => {
    requireState(import_, 'sendMails');
    if (import_.dryRun) throw new ApiError('FAILED_PRECONDITION', 'IMPORT-DRY-RUN', 'A dry run has no mails to send.');
    const { rowCount } = await db.query(
      `update imports set mails = 'released', changed_at = clock_timestamp() where id = $1 and mails = 'held'`,
      [importId],
    );
    return rowCount === 1;
  });
}

/**
 * Runs `change` with the import's row locked; if it changed something, appends the event.
 * @param change returns whether it changed anything; the payload of the event, if it has one
 * @param before called in the transaction, before the row is locked
 * @throws ApiError 404 when the import has been removed
 */
export async function act(
  pool: Pool,
  caller: Caller,
  importId: string,
  type: string,
  change: (db: Db, import_: LockedImport) => Promise<boolean | Record<string, unknown>>,
  before?: (db: Db, caller: Caller, importId: string) => Promise<void>,
): Promise<void> {
  await transaction(pool, async (db) => {
    await before?.(db, caller, importId);
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

/** What makes an import run again needs the rights of its caller, and those of everybody who made a part of it. */
async function requireRights(db: Db, caller: Caller, importId: string): Promise<void> {
  const text = 'select org_id as "orgId" from import_orgs where import_id = $1';
  const { rows } = await db.query<Named<ImportOrgs, { orgId: 'org_id' }>>(text, [importId]);
  const orgIds = rows.map(({ orgId }) => orgId);
  await requireAuthors(db, importId, orgIds, [caller.userId]);
}

/**
 * Makes the import run again, with the rights of the caller, for `timeout` or for the time that was left. The time in which it did not run does not
 * count in its rate, and the time in which it was paused does not count against its deadline.
 */
async function runAgain(
  db: Db,
  importId: string,
  { timeout }: NewTimeout,
  { caller, isRetry }: { caller: Caller; isRetry: boolean },
): Promise<void> {
  await db.query(
    `update imports set state = 'running', changed_at = clock_timestamp(), finished_at = null, paused_at = null,
       retried = $4, run_by = $5,
       stood = stood + coalesce(clock_timestamp() - coalesce(paused_at, finished_at), '0'),
       timeout = coalesce($2, timeout),
       deadline = case when $3::float8 is null then ${MOVED_DEADLINE}
         else clock_timestamp() + $3 * interval '1 millisecond' end
     where id = $1`,
    [importId, timeout ?? null, timeout === undefined ? null : parseDuration(timeout), isRetry, caller.userId],
  );
  await requireWithinLimits(db, importId);
}

/** @throws ApiError 400 IMPORT-TIMEOUT when the deadline has passed and no new timeout is given */
function requireTimeLeft(import_: LockedImport, { timeout }: NewTimeout): void {
  if (timeout === undefined && import_.overdue) throw badTimeout('is required, as the deadline has passed');
}

/** @throws ApiError 400 when the data of the remaining users has been erased */
export function requireData(import_: LockedImport): void {
  if (!import_.erased) return;
  const message = import_.dryRun
    ? 'The users of this dry run are gone, or their draft has been checked again, changed or started. Check it again, or send the users again.'
    : 'The data of the remaining users was erased at the end of the retention time. Send these users in a new import.';
  throw new ApiError('FAILED_PRECONDITION', 'IMPORT-ERASED', message);
}

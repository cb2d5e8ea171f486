/**
 * The work on drafts that a worker does: a conversion or a check. One worker at a time has it, under a lease in the
 * draft's row.
 *
 * Guarantee: a worker that is dead or frozen loses the work when its lease expires; whatever it writes later is
 * refused, as each statement that counts names the run and the holder, and every request that changes the draft begins
 * another run.
 * On crash: another worker begins again when the lease has expired.
 */
import { heldFor, isFree } from '../../platform/db/lease.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';

const LEASE_MS = 15_000;
export const RENEW_MS = 2000;

/**
 * SQL over a draft `d` of import_preparations: there is work on it. A check that began with an earlier version judges a
 * copy of the entries, as any dry run.
 */
export const IS_WORK = `d.requested_at is not null and (d.check_id is null or exists (
    select from imports c join import_dry_runs r on r.import_id = c.id and r.entries_of = d.import_id
    where c.id = d.check_id and c.state = 'running' and c.deadline > clock_timestamp()))`;

const IS_OURS = 'import_id = $1 and run = $2 and holder = $3';

export interface Job {
  importId: string;
  state: 'converting' | 'checking';
  run: number;
  holder: string;
  /** Workers that have begun it, this one included. */
  attempts: number;
}

/**
 * A job of the organization with the fewest jobs at work, and of these the one that waits longest.
 * @param onlyIdle takes only a job of an organization that no worker works for
 * @returns undefined when there is none
 */
export async function claimJob(pool: Pool, holder: string, onlyIdle = false): Promise<Job | undefined> {
  return transaction(pool, async (db) => {
    // One claim at a time, or two of them would not count each other's job.
    await db.query("select pg_advisory_xact_lock(hashtextextended('draft jobs', 0))");
    const { rows } = await db.query<Omit<Job, 'holder' | 'state'>>(
      `update import_preparations set holder = $1, held_until = ${heldFor(2)}, attempts = attempts + 1
       where import_id = (
         select d.import_id from import_preparations d join imports i on i.id = d.import_id, lateral (
           select count(*) from import_preparations held join imports h on h.id = held.import_id
           where held.held_until > clock_timestamp() and h.resource_owner = i.resource_owner) at_work (jobs)
         where ${IS_WORK} and d.expires_at > clock_timestamp() and ${isFree('d.held_until')}
           and (at_work.jobs = 0 or not $3)
         order by at_work.jobs, d.requested_at limit 1 for update of d skip locked)
       returning import_id as "importId", run, attempts`,
      [holder, LEASE_MS, onlyIdle],
    );
    const [job] = rows;
    return job && { ...job, holder, state: await stateOf(db, job.importId) };
  });
}

/** Call it with the draft's row locked: the state changes only then. */
async function stateOf(db: Db, importId: string): Promise<Job['state']> {
  const { rows } = await db.query<Pick<Job, 'state'>>('select state from imports where id = $1', [importId]);
  return oneRow(rows).state;
}

function keyOf({ importId, run, holder }: Job): unknown[] {
  return [importId, run, holder];
}

/** Renews the lease; returns whether the job is still this worker's. @param progress is shown to those who wait */
export async function renewJob(db: Db, job: Job, progress?: unknown): Promise<boolean> {
  const { rowCount } = await db.query(
    `update import_preparations set held_until = ${heldFor(4)}, progress = coalesce($5, progress)
     where ${IS_OURS} and expires_at > clock_timestamp()`,
    [...keyOf(job), LEASE_MS, progress === undefined ? null : JSON.stringify(progress)],
  );
  return rowCount === 1;
}

/** Gives the job up: any worker may take it, at once. */
export async function releaseJob(db: Db, { importId, holder }: Job): Promise<void> {
  const text = 'update import_preparations set holder = null, held_until = null where import_id = $1 and holder = $2';
  await db.query(text, [importId, holder]);
}

/** The dry run of the check has begun. @returns false when the job is no longer this worker's; then nothing is written */
export async function beganCheck(db: Db, job: Job, checkId: string): Promise<boolean> {
  const text = `update import_preparations set check_id = $4, attempts = 1 where ${IS_OURS}`;
  if ((await db.query(text, [...keyOf(job), checkId])).rowCount === 0) return false;
  await db.query('update imports set changed_at = clock_timestamp() where id = $1', [job.importId]);
  return true;
}

/** The job has come further: attempts that did not are counted anew. */
export async function countAnew(db: Db, job: Job): Promise<void> {
  if (job.attempts === 1) return;
  await db.query(`update import_preparations set attempts = 1 where ${IS_OURS}`, keyOf(job));
  job.attempts = 1;
}

/**
 * Ends the job, in a transaction: the draft gets the state, and the values of its columns in import_preparations.
 * @returns false when the job is no longer this worker's; then nothing is written
 */
export async function endJob(
  db: Db,
  job: Job,
  state: 'draft' | 'unreadable',
  values: Record<string, unknown> = {},
): Promise<boolean> {
  const set = Object.keys(values).map((name, i) => `, ${name} = $${i + 4}`);
  const { rowCount } = await db.query(
    `update import_preparations set progress = null, holder = null, held_until = null, requested_at = null ${set.join('')}
     where ${IS_OURS}`,
    [...keyOf(job), ...Object.values(values)],
  );
  if (rowCount === 0) return false;
  const text = `update imports set state = $2, changed_at = clock_timestamp() where id = $1 and kind = 'draft'`;
  await db.query(text, [job.importId, state]);
  return true;
}

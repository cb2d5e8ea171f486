/**
 * The worker processes that run, with what each of them does, which they report themselves; and the roles
 * (WORKER_ROLES) that an import waits for while no live worker has them.
 *
 * Guarantee: a worker that died, froze or lost the database is not listed after LIVE_S. All times come from the
 * database, so the clocks of the machines do not matter. The row of a worker that died stays, unlisted, until another
 * worker starts.
 */
import type { ImportResult } from '../../contract/import-types.ts';
import type { WORKER_ROLE_NAMES } from '../../platform/config.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';

/** A worker counts as live for five missed reports. */
const LIVE_S = 10;
const FORGOTTEN_S = 60;
/** The most workers that are listed. */
const MOST = 1000;
const IS_LIVE = `seen_at > clock_timestamp() - interval '${LIVE_S} seconds'`;

/** SQL of the roles that live workers have, as an array. */
export const LIVE_ROLES = `array(select distinct unnest(roles) from workers where ${IS_LIVE})`;

const WRITING = ['import', 'dispatch'];

/** What does not change while the process runs. */
export interface WorkerIdentity {
  id: string;
  host: string;
  pid: number;
  version: string;
  /** The newest migration that its program has. */
  schema: number;
  roles: (typeof WORKER_ROLE_NAMES)[number][];
  backend: 'redis' | 'postgres';
  /** The number of shards that get new jobs. */
  shards: number;
}

export interface WorkerState {
  isStopping: boolean;
  importJobs: number;
  mailJobs: number;
  usersPerSecond: number;
  /** The parts that fail, as in `/readyz`. */
  failing: readonly string[];
}

export interface LiveWorker extends Omit<WorkerIdentity, 'id' | 'schema'>, WorkerState {
  startedAt: Date;
  seenAt: Date;
}

/** @param uptime of the process, in seconds */
export async function reportWorker(db: Db, own: WorkerIdentity, state: WorkerState, uptime: number): Promise<void> {
  await db.query(
    `insert into workers (id, host, pid, version, roles, backend, shards,
       is_stopping, import_jobs, mail_jobs, users_per_second, failing, started_at, seen_at, schema)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
       clock_timestamp() - $13 * interval '1 second', clock_timestamp(), $14)
     on conflict (id) do update set is_stopping = excluded.is_stopping, import_jobs = excluded.import_jobs,
       mail_jobs = excluded.mail_jobs, users_per_second = excluded.users_per_second, failing = excluded.failing,
       seen_at = excluded.seen_at`,
    [
      own.id,
      own.host,
      own.pid,
      own.version,
      own.roles,
      own.backend,
      own.shards,
      state.isStopping,
      state.importJobs,
      state.mailJobs,
      state.usersPerSecond,
      state.failing,
      uptime,
      own.schema,
    ],
  );
}

/** Removes the worker and, as they may never come back, workers that died. */
export async function removeWorker(db: Db, id: string): Promise<void> {
  await db.query(
    `delete from workers where id = $1 or seen_at < clock_timestamp() - interval '${FORGOTTEN_S} seconds'`,
    [id],
  );
}

/** The live workers by host, at most 1,000. */
export async function listWorkers(db: Db): Promise<LiveWorker[]> {
  const { rows } = await db.query<LiveWorker>(
    `select host, pid, version, roles, backend, shards, is_stopping as "isStopping", import_jobs as "importJobs",
       mail_jobs as "mailJobs", users_per_second::float8 as "usersPerSecond", failing, started_at as "startedAt",
       seen_at as "seenAt"
     from workers where ${IS_LIVE} order by host, started_at, id limit ${MOST}`,
  );
  return rows;
}

/**
 * The roles that the import waits for and no live worker has.
 * @param live the roles of live workers
 * @param isCheck it is the dry run of a draft's check
 */
export function missingRoles(progress: ImportResult, live: readonly string[], isCheck: boolean): string[] {
  return neededRoles(progress, isCheck).filter((role) => !live.includes(role));
}

function neededRoles({ state, counts, mails, dryRun }: ImportResult, isCheck: boolean): string[] {
  if (state === 'IMPORT_STATE_RUNNING' && counts.pending > 0) return isCheck ? ['convert'] : WRITING;
  if (state === 'IMPORT_STATE_UNDOING') return ['rescue'];
  return mails.pending > 0 && !dryRun ? ['mail'] : [];
}

/** @throws Error when users wait to be written, and no worker is there that does it */
export async function requireWorkers(pool: { query: Pool['query'] }): Promise<void> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `select not ${LIVE_ROLES} @> $1 and exists (
       select from imports where state = 'running' and deadline > clock_timestamp()
         and total > succeeded + skipped + failed + undone
         and not exists (select from import_dry_runs r where r.import_id = imports.id and r.entries_of is not null))
         as waits`,
    [WRITING],
  );
  if (rows[0]?.waits)
    throw new Error(`Users wait to be written, and no worker with the roles ${WRITING.join(' and ')} runs.`);
}

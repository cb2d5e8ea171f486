/**
 * Finds stalled jobs on PostgreSQL by the clock of PostgreSQL.
 *
 * BullMQ 6.7 takes the time of each lock, and of its check for stalled jobs, from the clock of the worker. It also stores the
 * time of the last check, and allows the next one only after it. So one check of a worker whose clock is two hours ahead
 * prevents every check for two hours, and the jobs that this worker had when it died stay locked as long.
 *
 * Guarantee: no lock lasts longer than its duration plus MOST_AHEAD_MS after its worker died, whatever clock the workers have.
 * A lock is shortened, never ended: a worker that lives renews it in time.
 * On crash: another worker does the next check.
 */
import type { BackendFactory, IQueueBackend } from 'bullmq';
import type pg from 'pg';

/** Clocks that are this far apart need no repair. */
const MOST_AHEAD_MS = 60_000;

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

// Never waits for a row: BullMQ's own check locks many rows in an order of its own.
const REPAIR = `
with clock as (select ${NOW} as now),
shortened as (
  update job set locked_until_ms = (select now from clock) + $2::bigint
  where queue = $1 and id = any(array(
    select id from job
    where queue = $1 and state = 'active' and locked_until_ms > (select now from clock) + $2::bigint + $3::bigint
    for update skip locked))
)
update meta set value = (select now from clock)::text
where queue = $1 and field = 'stalled-check' and value::bigint > (select now from clock)`;

const CHECK = `select id from move_stalled_jobs_to_wait($1, $2, ${NOW}, $3) as t(id)`;

/** The options of a worker that matter here; BullMQ has filled in its defaults. */
interface CheckOptions {
  connection: pg.Pool;
  lockDuration: number;
  stalledInterval: number;
  maxStalledCount: number;
}

/** Returns a factory of the same backends, which check for stalled jobs by the clock of PostgreSQL. */
export function withDatabaseClock(
  factory: BackendFactory<IQueueBackend, unknown>,
): BackendFactory<IQueueBackend, unknown> {
  return (queue, options, ...rest) => {
    const { connection: pool, ...check } = options as unknown as CheckOptions;
    const backend = factory(queue, options, ...rest);
    backend.moveStalledJobsToWait = async () => {
      await pool.query(REPAIR, [queue, check.lockDuration, MOST_AHEAD_MS]);
      const { rows } = await pool.query<{ id: string }>(CHECK, [queue, check.maxStalledCount, check.stalledInterval]);
      return rows.map(({ id }) => id);
    };
    return backend;
  };
}

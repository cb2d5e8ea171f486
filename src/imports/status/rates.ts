/**
 * How fast an import was over time: at most MAX_POINTS points, kept as long as the import.
 *
 * The dispatcher samples the counts of all running imports; batches do nothing for it. Samples become rarer as an
 * import runs longer: whenever there would be too many, every second one is removed and the interval is doubled.
 *
 * Guarantee: the points of an import sum to its counts, whatever samples are missing, as the last point always ends
 * with its current counts. Sampling takes no lock of an import, and any number of processes may do it.
 * On crash: the interval in which nobody sampled is one long one.
 */
import type { RatePoint } from '../../contract/import-types.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { ImportRates } from '../../platform/db/tables.ts';

export const MAX_POINTS = 600;

/** SQL over `imports`: milliseconds in which it ran, and the counts that never decrease. */
const RAN_MS = `extract(epoch from coalesce(finished_at, paused_at, clock_timestamp()) - accepted_at - stood) * 1000`;
const EVER = `succeeded + undone as succeeded, skipped, failed + reopened as failed`;

/** The first sample of each interval; the last point of an answer is no sample. */
const SAMPLE = `
with open as (
  -- Not less than 0, as the server's clock may have been set back.
  select id, greatest(0, floor(${RAN_MS}))::bigint as ran_ms, ${EVER}
  from imports where kind = 'bulk' and state = 'running' and deadline > clock_timestamp()
),
due as (
  select open.*, (ran_ms / 1000)::int - (ran_ms / 1000)::int % step as tick, step
  from open, lateral (
    select (2 ^ greatest(0, ceil(log(2, (ran_ms / 1000 + 1) / ${MAX_POINTS - 1}.0))))::int as step) interval
),
thinned as (
  delete from import_rates r using due d where r.import_id = d.id and r.tick % d.step <> 0
)
insert into import_rates (import_id, tick, ran_ms, succeeded, skipped, failed)
select id, tick, ran_ms, succeeded, skipped, failed from due
on conflict do nothing`;

/** Samples all running imports; call it about twice a second. */
export async function sampleRates(db: Db): Promise<void> {
  await db.query({ name: 'sample-rates', text: SAMPLE });
}

interface Sample extends Pick<ImportRates, 'at' | 'succeeded' | 'skipped' | 'failed'> {
  ran_ms: number;
}

/** Oldest first. Empty until the first user is settled. */
export async function readRates(pool: Pool, importId: string): Promise<RatePoint[]> {
  const { rows } = await pool.query<Sample>({
    name: 'rates',
    text: `select * from (
        select at, ran_ms::float8 as ran_ms, succeeded, skipped, failed from import_rates where import_id = $1
        union all
        select coalesce(finished_at, paused_at, clock_timestamp()), (${RAN_MS})::float8, ${EVER}
        from imports where id = $1) sample
      order by ran_ms, succeeded + skipped + failed`,
    values: [importId],
  });
  return pointsOf(rows.slice(-MAX_POINTS));
}

/** The differences of successive samples. */
function pointsOf(samples: Sample[]): RatePoint[] {
  let last: Omit<Sample, 'at'> = { ran_ms: 0, succeeded: 0, skipped: 0, failed: 0 };
  const points: RatePoint[] = [];
  for (const sample of samples) {
    const counts = {
      succeeded: sample.succeeded - last.succeeded,
      skipped: sample.skipped - last.skipped,
      failed: sample.failed - last.failed,
    };
    const users = counts.succeeded + counts.skipped + counts.failed;
    const seconds = Math.round(Math.max(0, sample.ran_ms - last.ran_ms)) / 1000;
    last = sample;
    if (users === 0 && points.length === 0) continue;
    points.push({ at: sample.at.toISOString(), seconds, ...counts, usersPerSecond: rateOf(users, seconds) });
  }
  return points;
}

function rateOf(users: number, seconds: number): number {
  return seconds > 0 ? Math.round((users / seconds) * 10) / 10 : 0;
}

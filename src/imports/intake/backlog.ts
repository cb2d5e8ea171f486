/**
 * How much there is to do already, so that no more is taken than can be worked off (MAX_BACKLOG).
 * Holds nothing: the counters of the open imports say it, at the cost of looking at those few rows.
 */
import type { Db } from '../../db/pool.ts';

/** Users of running and paused imports that are still to be written. */
export async function backlog(db: Db): Promise<number> {
  // One arm for each partial index: imports_open, imports_paused.
  const { rows } = await db.query<{ pending: number }>({
    name: 'backlog',
    text: `select coalesce(sum(total - succeeded - skipped - failed - undone), 0)::float8 as pending from (
        select * from imports where state = 'running' and deadline > clock_timestamp()
        union all
        select * from imports where state = 'paused') as open`,
  });
  return rows[0]?.pending ?? 0;
}

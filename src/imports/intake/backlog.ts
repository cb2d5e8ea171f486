/**
 * The number of users waiting to be written, so that the API can refuse new imports above MAX_BACKLOG.
 * Keeps no state: it sums the counters of the open imports, which are few rows.
 */
import type { Db } from '../../db/pool.ts';

/** The pending users of all running and paused imports. */
export async function backlog(db: Db): Promise<number> {
  // One branch for each partial index: imports_open, imports_paused.
  const { rows } = await db.query<{ pending: number }>({
    name: 'backlog',
    text: `select coalesce(sum(total - succeeded - skipped - failed - undone), 0)::float8 as pending from (
        select * from imports where state = 'running' and deadline > clock_timestamp()
        union all
        select * from imports where state = 'paused') as open`,
  });
  return rows[0]?.pending ?? 0;
}

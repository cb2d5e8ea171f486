/** Deletes audit events that are older than the retention time. The history of changes (`events`) stays. */
import type { Db } from '../db/pool.ts';

const SWEEP_ROWS = 5000;

/**
 * Deletes in small batches, so that nobody waits for it; returns how many. Any number of processes may run it at once.
 * @param days 0: keeps all
 */
export async function sweepAudit(db: Db, days: number): Promise<number> {
  for (let swept = 0; days > 0; ) {
    const { rowCount } = await db.query(
      `delete from audit_events where sequence in (
         select sequence from audit_events where created_at < now() - $1 * interval '1 day'
         order by created_at, sequence limit $2 for update skip locked)`,
      [days, SWEEP_ROWS],
    );
    swept += rowCount ?? 0;
    if ((rowCount ?? 0) < SWEEP_ROWS) return swept;
  }
  return 0;
}

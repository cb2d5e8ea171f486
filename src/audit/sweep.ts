/** Deletes audit events that are older than the retention time. The history of changes (`events`) stays. */
import type { Db } from '../db/pool.ts';
import { sweepRows } from '../db/sweep.ts';

/**
 * Removes one batch of old events; returns how many.
 * @param days 0: keeps all
 */
export async function sweepAudit(db: Db, days: number): Promise<number> {
  if (days === 0) return 0;
  const expired = { where: `created_at < now() - $1 * interval '1 day'`, order: 'created_at, sequence' };
  return sweepRows(db, { table: 'audit_events', ...expired }, [days]);
}

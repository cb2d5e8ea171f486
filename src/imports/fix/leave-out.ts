/**
 * Leaves failed users out: their items become skipped, and their data is erased.
 *
 * Guarantee: items and counts change in one transaction, in which the caller holds the lock of the import's row. An
 * import of which nothing has failed any more has succeeded.
 */
import type { Db } from '../../db/pool.ts';
import { PAYLOAD } from '../items.ts';

/** @returns how many were left out; the others are not failed any more */
export async function leaveOut(db: Db, importId: string, ordinals: readonly number[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `with left_out as (
       update import_items set state = 'skipped', error = null, ${PAYLOAD.map((column) => `${column} = null`).join(', ')}
       where import_id = $1 and ordinal = any($2::int[]) and state = 'failed' returning org_index
     ),
     per_org as (select org_index, count(*)::int as n from left_out group by org_index),
     of_orgs as (
       update import_orgs o set failed = o.failed - p.n, skipped = o.skipped + p.n from per_org p
       where o.import_id = $1 and o.org_index = p.org_index
     ),
     counted as (select coalesce(sum(n), 0)::int as n from per_org)
     update imports i set failed = i.failed - c.n, skipped = i.skipped + c.n, reopened = i.reopened + c.n,
       changed_at = clock_timestamp(),
       state = case when i.state = 'completed_with_errors' and i.failed = c.n then 'succeeded' else i.state end
     from counted c where i.id = $1 returning c.n`,
    [importId, ordinals],
  );
  return rows[0]?.n ?? 0;
}

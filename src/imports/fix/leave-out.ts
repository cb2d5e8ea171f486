/**
 * Leaves failed users out: their items become skipped, and their data is erased.
 *
 * Guarantee: items and counts change in one transaction, in which the caller holds the lock of the import's row. An
 * import of which nothing has failed any more has succeeded.
 */
import type { Db } from '../../db/pool.ts';
import type { Ran } from '../../observations.ts';
import { forgetFailures } from '../failures.ts';
import { PAYLOAD } from '../items.ts';

export interface LeftOut {
  /** How many were left out; the others are not failed any more. */
  n: number;
  /** The import, if it has succeeded now: publish this after the commit. */
  ended: Ran | undefined;
}

export async function leaveOut(db: Db, importId: string, ordinals: readonly number[]): Promise<LeftOut> {
  const { rows } = await db.query<Ran & { n: number; state: string }>(
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
     from counted c where i.id = $1
     returning c.n, i.state, id as "importId", kind, dry_run as "dryRun",
       extract(epoch from finished_at - accepted_at - stood)::float8 as seconds`,
    [importId, ordinals],
  );
  await forgetFailures(db, importId);
  const { n, state, ...ran } = rows[0] as Ran & { n: number; state: string };
  return { n, ended: n > 0 && state === 'succeeded' ? ran : undefined };
}

/** The last step of a batch whose items were judged one by one: writes states and counts, if the import still runs. */
import type { Db } from '../../../db/pool.ts';
import type { ErrorBody } from '../../../errors.ts';
import { withinBatch } from '../../batch-items.ts';
import { JOIN_RAN, type SettledBatch } from '../../ended.ts';
import { failuresCounted } from '../../failures.ts';
import { PAYLOAD } from '../../items.ts';

export interface Settled {
  ordinal: number;
  state: 'succeeded' | 'skipped' | 'failed';
  /** The id of the existing user, if the item is shown with it. */
  userId?: string;
  error?: ErrorBody;
  changed?: string[];
}

/**
 * @returns what was settled, for `publishBatch` after the commit; undefined if nothing was
 * @param erase whether to erase the payload of failed items too; that of all others is always erased
 * @throws pg.DatabaseError with code MU001 when the import is not running; the transaction is aborted then
 */
export async function settleItems(
  db: Db,
  importId: string,
  settled: Settled[],
  { mails, erase }: { mails: number; erase: boolean },
): Promise<SettledBatch | undefined> {
  if (settled.length === 0) return undefined;
  const rows = settled.map(({ userId, ...rest }) => ({ ...rest, user_id: userId }));
  const ordinals = settled.map((one) => one.ordinal);
  const written = await db.query<SettledBatch>(SETTLE, [importId, JSON.stringify(rows), mails, erase, ordinals]);
  return written.rows[0];
}

const SETTLE = `
with settled as (
  update import_items i set
    state = v.state, error = v.error, user_id = coalesce(v.user_id, i.user_id),
    changed = (select array_agg(name) from jsonb_array_elements_text(v.changed) as name),
    ${PAYLOAD.map((column) => `${column} = case when v.state = 'failed' and not $4 then i.${column} end`).join(', ')}
  from jsonb_to_recordset($2) as v (ordinal int, state item_state, user_id text, error jsonb, changed jsonb)
  where ${withinBatch('$5')} and i.ordinal = v.ordinal and i.state = 'pending'
  returning i.org_index, i.state, i.ordinal, i.error
),
${failuresCounted('settled')},
per_org as (
  select org_index, count(*) filter (where state = 'succeeded')::int as succeeded,
    count(*) filter (where state = 'skipped')::int as skipped, count(*) filter (where state = 'failed')::int as failed
  from settled group by org_index
),
done as (
  select sum(succeeded)::int as succeeded, sum(skipped)::int as skipped, sum(failed)::int as failed,
    array_agg(org_index) as orgs, array_agg(per_org.succeeded) as org_succeeded,
    array_agg(per_org.skipped) as org_skipped, array_agg(per_org.failed) as org_failed
  from per_org
)
select succeeded, skipped, failed, ran.*,
  settle_outcomes($1, succeeded, skipped, failed, $3, orgs, org_succeeded, org_skipped, org_failed) as state
from done ${JOIN_RAN}`;

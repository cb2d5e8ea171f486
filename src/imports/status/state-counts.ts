/**
 * How many imports there are in each state, for the filters of the list.
 *
 * The newest MOST are counted, so the cost is bounded: 10,000 imports take about 10 ms.
 */
import type { Db } from '../../db/pool.ts';
import type { StateCounts } from '../answers.ts';
import { IMPORT_STATES } from '../item-states.ts';

const MOST = 10_000;

export interface Counted {
  /** Only imports whose organizations are all in this list, and drafts of the user; undefined: all. */
  of: { userId: string; within: string[] } | undefined;
  /** Only imports with users of this organization; drafts are then not counted, as the list does not show them. */
  orgId: string | undefined;
}

const STARTED = `select i.state::text as state from imports i
  where i.kind = 'bulk' and i.state <> 'receiving' and i.removed_to is null
    and ($1::text[] is null or i.id in (select import_id from import_orgs where org_id = any ($1)) and not exists (
      select from import_orgs o where o.import_id = i.id and o.org_id <> all ($1)))
    and ($2::text is null or i.id in (select import_id from import_orgs where org_id = $2))
  order by i.id desc limit ${MOST}`;
const DRAFTS = `select 'draft' as state from import_drafts d join imports i on i.id = d.import_id
  where $2::text is null and d.state <> 'started' and d.expires_at > clock_timestamp()
    and ($3::text is null or i.created_by = $3 or d.orgs <> '{}' and d.orgs <@ $1::text[])
  limit ${MOST}`;

export async function countStates(db: Db, { of, orgId }: Counted): Promise<StateCounts> {
  const { rows } = await db.query<{ state: string; imports: number }>({
    name: 'count-states',
    text: `select state, count(*)::int as imports from ((${STARTED}) union all (${DRAFTS})) as listed group by state`,
    values: [of?.within ?? null, orgId ?? null, of?.userId ?? null],
  });
  const found = new Map(rows.map(({ state, imports }) => [state.toUpperCase(), imports]));
  return {
    states: Object.fromEntries(IMPORT_STATES.map((state) => [`IMPORT_STATE_${state}`, found.get(state) ?? 0])),
    drafts: found.get('DRAFT') ?? 0,
    isCapped: rows.filter(({ state }) => state !== 'draft').reduce((sum, { imports }) => sum + imports, 0) === MOST,
  };
}

/**
 * The errors of the failed users of an import, with how many have each.
 *
 * Adds up what was counted while users failed (../failures.ts). Where that is not all of them, as after a correction, reads
 * the failed items by the partial index `import_items_failed`, in pages that grow while errors are alike.
 */
import type { Pool } from '../../db/pool.ts';
import type { ErrorBody } from '../../errors.ts';
import { FIRST, MOST_ERRORS } from '../failures.ts';

/** Rows of counts that are added up; each batch with failures writes one for each error. */
const MOST_COUNTS = 50_000;
/** Failed items of a page: more while their errors are alike. */
const PAGE = { first: MOST_ERRORS, growth: 8, most: 160_000 };

export interface Group {
  error: ErrorBody;
  n: number;
  /** The first ordinals, ascending. */
  first: number[];
}

/** The errors that were counted while users failed, if that is all of them; otherwise those of the failed items. */
export async function* errorGroups(pool: Pool, importId: string): AsyncGenerator<Group> {
  const { rows } = await pool.query<Group>({ name: 'counted-errors', text: COUNTED_ERRORS, values: [importId] });
  if (rows[0]) yield* rows;
  else yield* groupsOf(pool, importId);
}

// One snapshot has the number of failed users and all counts. Hashes are compared, as below.
const COUNTED_ERRORS = `
with counted as materialized (
  select jsonb_hash_extended(error, 0) as hash, error, users, first
  from import_failures where import_id = $1 limit ${MOST_COUNTS + 1}),
complete as (
  select from counted having sum(users) = (select failed from imports where id = $1)
    and count(*) <= ${MOST_COUNTS} and count(distinct hash) <= ${MOST_ERRORS}),
alike as (
  select hash, (array_agg(error))[1] as error, sum(users)::int as n from counted where exists (select from complete) group by hash),
firsts as (
  select hash, (array_agg(o order by o))[1:${FIRST}] as first
  from counted cross join unnest(first) as o where exists (select from complete) group by hash)
select error, n, first from alike join firsts using (hash)`;

/** The errors of all failed items, equal ones of a page together. */
async function* groupsOf(pool: Pool, importId: string): AsyncGenerator<Group> {
  let page = PAGE.first;
  for (let after = -1; ; ) {
    const { rows } = await pool.query<Page>({
      name: 'errors-page',
      text: PAGE_OF_ERRORS,
      values: [importId, after, page],
    });
    if (rows[0]) yield* rows;
    else if (page === PAGE.first) return;
    const size = rows[0] ?? { read: page, last: after };
    if (size.read < page) return;
    after = size.last;
    // Without rows, there were too many different errors.
    if (!rows[0]) page = PAGE.first;
    else if (rows.length * PAGE.growth <= MOST_ERRORS) page = Math.min(page * PAGE.growth, PAGE.most);
  }
}

type Page = Group & { read: number; last: number };

// Hashes are compared, as comparing errors takes longer than everything else. The laterals leave the planner no other plan than
// to look up one row a group, while the table has no statistics yet.
const PAGE_OF_ERRORS = `
with alike as materialized (
  select array_agg(ordinal) as ordinals, max(ordinal) as last
  from (
    select ordinal, error from import_items
    where import_id = $1 and ordinal > $2 and error is not null and state = 'failed'
    order by ordinal limit $3) item
  group by jsonb_hash_extended(error, 0)),
size as (select count(*) as errors, sum(cardinality(ordinals))::int as read, max(last) as last from alike)
select one.error, cardinality(ordinals) as n, first, size.read, size.last
from size cross join alike
  cross join lateral (select array(select o from unnest(ordinals) as o order by o limit ${FIRST}) as first) firsts
  cross join lateral (select error from import_items where import_id = $1 and ordinal = first[1] limit 1) one
where size.errors <= ${MOST_ERRORS}`;

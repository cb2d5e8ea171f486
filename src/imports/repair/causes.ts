/**
 * Why users of an import failed: each cause with its count, its first entries and the remedies that apply.
 *
 * Adds up the errors that were counted while users failed (entries/outcome.ts). Where that is not all of them, as
 * after a correction, reads the failed items by the partial index `import_items_failed`, in pages that grow while
 * errors are alike. Remembers the answer until the import has changed. Above FEW failures, an answer that is a few
 * seconds old is shown while the next one is counted, so that nobody waits for it; `asOf` says how old it is.
 *
 * Guarantee: no answer is older than the last action on the import, such as a correction.
 */
import type { Logger } from 'pino';
import { causesOf, errorIdOf, FIXED_ID } from '../../contract/causes.ts';
import type { Cause, Causes, CountedCause, ImportResult } from '../../contract/import-types.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems, ImportOrgs } from '../../platform/db/tables.ts';
import type { ErrorBody } from '../../platform/errors.ts';

import { FIRST, MOST_ERRORS } from '../entries/outcome.ts';

const MAX_CAUSES = 100;
/** Distinct causes that are kept while counting; a body may have a million different unknown fields. */
const MAX_KEPT = 2000;
/** Up to here counting takes some tens of milliseconds, so the answer is always current. */
const FEW = 10_000;
/** A count that took long is followed by a pause of this many times its duration. */
const REST = 3;
const MAX_REMEMBERED = 100;

/** Rows of counts that are added up; each batch with failures writes one for each error. */
const MOST_COUNTS = 50_000;
/** Failed items of a page: more while their errors are alike. */
const PAGE = { first: MOST_ERRORS, growth: 8, most: 160_000 };

// One snapshot has the number of failed users and all counts. Hashes are compared, as in PAGE_OF_ERRORS.
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

// Hashes are compared, as comparing errors takes longer than everything else. The laterals leave the planner no other
// plan than to look up one row a group, while the table has no statistics yet.
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

interface Remembered {
  /** The last action on the import, and the failures at that time. */
  sequence: string;
  failed: number;
  answer: Causes;
  restUntil: number;
}

/** Says of causes which remedies help; see `helpsOf`. */
type Examine = (causes: CountedCause[]) => Promise<CountedCause[]>;

export interface CausesReader {
  read(of: ImportResult, examine?: Examine): Promise<Causes>;
}

/** Call it once for a process. */
export function openCausesReader(pool: Pool, logger: Logger): CausesReader {
  const remembered = new Map<string, Remembered>();
  const counting = new Map<string, Promise<Causes>>();

  function count(of: ImportResult, examine?: Examine): Promise<Causes> {
    const { sequence } = of.details;
    const key = `${of.importId} ${sequence}`;
    const started = counting.get(key);
    if (started) return started;
    const began = performance.now();
    const counted = countCauses(pool, of, examine)
      .then((answer) => {
        const restUntil = performance.now() + REST * (performance.now() - began);
        remember(of.importId, { sequence, failed: of.counts.failed, answer, restUntil });
        return answer;
      })
      .finally(() => counting.delete(key));
    counting.set(key, counted);
    return counted;
  }

  function remember(importId: string, found: Remembered): void {
    remembered.delete(importId);
    remembered.set(importId, found);
    const oldest = remembered.keys().next().value;
    if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  }

  return {
    async read(of, examine) {
      const last = remembered.get(of.importId);
      if (!last || last.sequence !== of.details.sequence) return count(of, examine);
      if (last.failed === of.counts.failed) return last.answer;
      if (of.counts.failed <= FEW) return count(of, examine);
      if (performance.now() > last.restUntil) {
        // The next request tries again.
        void count(of, examine).catch((err) =>
          logger.warn({ err, importId: of.importId }, 'the causes of an import could not be counted'),
        );
      }
      return last.answer;
    },
  };
}

/** Counts the causes; the database counts equal errors. */
async function countCauses(pool: Pool, of: ImportResult, examine?: Examine): Promise<Causes> {
  const asOf = new Date().toISOString();
  const found = new Map<string, { cause: Cause; count: number; first: number[] }>();
  let [failed, corrected] = [0, 0];
  for await (const { error, n, first } of errorGroups(pool, of.importId)) {
    failed += n;
    if (errorIdOf(error) === FIXED_ID) corrected += n;
    else for (const cause of causesOf(error)) take(found, cause, n, first);
  }
  const sorted = [...found.values()].sort((a, b) => b.count - a.count || (a.first[0] ?? 0) - (b.first[0] ?? 0));
  const shown = sorted.slice(0, MAX_CAUSES);
  const counted = await withUsers(pool, of.importId, shown);
  const causes = examine ? await examine(counted) : counted;
  return { failed, corrected, causes, moreCauses: sorted.length - shown.length, asOf };
}

function take(
  found: Map<string, { cause: Cause; count: number; first: number[] }>,
  cause: Cause,
  n: number,
  first: number[],
): void {
  const known = found.get(cause.cause);
  if (known) {
    known.count += n;
    known.first = [...known.first, ...first].sort((a, b) => a - b).slice(0, FIRST);
  } else if (found.size < MAX_KEPT) found.set(cause.cause, { cause, count: n, first });
}

type UserRow = Pick<ImportItems, 'ordinal' | 'org_index' | 'user_id' | 'user_name'>;

async function withUsers(
  pool: Pool,
  importId: string,
  shown: { cause: Cause; count: number; first: number[] }[],
): Promise<CountedCause[]> {
  const { rows } = await pool.query<UserRow>(
    'select ordinal, org_index, user_id, user_name from import_items where import_id = $1 and ordinal = any($2::int[])',
    [importId, shown.flatMap(({ first }) => first)],
  );
  const users = new Map(rows.map((row) => [row.ordinal, row]));
  const ofImport = await pool.query<Pick<ImportOrgs, 'org_index' | 'org_id'>>(
    'select org_index, org_id from import_orgs where import_id = $1',
    [importId],
  );
  const orgs = new Map(ofImport.rows.map((row) => [row.org_index, row.org_id]));
  const entryAt = (index: number) => {
    const user = users.get(index);
    const orgId = orgs.get(user?.org_index ?? -1) ?? '';
    return { index, orgId, userId: user?.user_id ?? '', userName: user?.user_name ?? '' };
  };
  return shown.map(({ cause, count, first }) => ({ ...cause, count, first: first.map(entryAt) }));
}

export interface Group {
  error: ErrorBody;
  n: number;
  /** The first ordinals, ascending. */
  first: number[];
}

/**
 * The errors that were counted while users failed, if that is all of them; otherwise the errors of the failed items.
 */
export async function* errorGroups(pool: Pool, importId: string): AsyncGenerator<Group> {
  const { rows } = await pool.query<Group>({ name: 'counted-errors', text: COUNTED_ERRORS, values: [importId] });
  if (rows[0]) yield* rows;
  else yield* groupsOf(pool, importId);
}

/** The errors of all failed items, equal ones of a page together. */
async function* groupsOf(pool: Pool, importId: string): AsyncGenerator<Group> {
  let page = PAGE.first;
  for (let after = -1; ; ) {
    const { rows } = await pool.query<CausePage>({
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

type CausePage = Group & { read: number; last: number };

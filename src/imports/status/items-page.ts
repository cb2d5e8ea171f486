/**
 * Lists the items of an import (one for each user) in body order, page by page.
 * Reads them from the database by primary key, never from the queue.
 */
import type { Pool } from '../../db/pool.ts';
import type { ImportResult, ItemView } from '../answers.ts';
import { openStateOf, storedState } from '../item-states.ts';
import type { ItemFilter, ItemRow } from './item-row.ts';
import { searchItems } from './items-search.ts';

export interface ItemsQuery {
  /** One of ITEM_STATES. */
  state?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  /** What an address, user name or id begins with; see items-search.ts. */
  query?: string | undefined;
  pageSize: number;
  /** Items from this index on. */
  from: number;
}

/** One page in body order; `next` is the index of the first item of the next page. */
export async function readItems(
  pool: Pool,
  of: ImportResult,
  query: ItemsQuery,
): Promise<{ items: ItemView[]; next: number | undefined }> {
  const stored = storedState(of, query.state);
  if (stored === null) return { items: [], next: undefined };
  const orgs = await orgsOf(pool, of.importId);
  const filter = {
    from: query.from,
    state: stored,
    orgIndexes: query.orgId === undefined ? undefined : indexesOf(orgs, query.orgId),
    userId: query.userId,
  };
  if (query.query !== undefined) {
    const within = { importId: of.importId, total: of.counts.total, orgIds: [...orgs.values()] };
    const { rows, next } = await searchItems(pool, within, query.pageSize, { ...filter, text: query.query });
    return { items: rows.map((row) => toView(row, of, orgs)), next };
  }
  const rows = await scanItems(pool, of, query.pageSize + 1, filter);
  const next = rows.length > query.pageSize ? rows.pop()?.ordinal : undefined;
  return { items: rows.map((row) => toView(row, of, orgs)), next };
}

/** Organization ids by their index in the body. */
export async function orgsOf(pool: Pool, importId: string): Promise<Map<number, string>> {
  const { rows } = await pool.query<{ org_index: number; org_id: string }>({
    name: 'import-orgs',
    text: 'select org_index, org_id from import_orgs where import_id = $1',
    values: [importId],
  });
  return new Map(rows.map((r) => [r.org_index, r.org_id]));
}

function indexesOf(orgs: Map<number, string>, orgId: string): number[] {
  return [...orgs].filter(([, id]) => id === orgId).map(([index]) => index);
}

const FIRST_STRETCH = 2000;

/**
 * Divides the items from an index on into ranges `[from, to)`, each twice as long as the one before. The planner has no
 * statistics yet for rows that were just copied in, and without a range would read and sort them all to find the first
 * few.
 */
export function* inStretches(start: number, total: number): Generator<[from: number, to: number]> {
  let from = start;
  for (let stretch = FIRST_STRETCH; from < total; stretch *= 2) {
    const to = Math.min(from + stretch, total);
    yield [from, to];
    from = to;
  }
}

/** The first `limit` items from an index on that match the filter, in body order. */
export async function scanItems(pool: Pool, of: ImportResult, limit: number, filter: ItemFilter): Promise<ItemRow[]> {
  const found: ItemRow[] = [];
  for (const [from, to] of inStretches(filter.from, of.counts.total)) {
    if (found.length >= limit) break;
    const { rows } = await pool.query<ItemRow>({
      name: 'items-stretch',
      text: `select ordinal, org_index, user_id, user_name, state, error, kept, changed from import_items
        where import_id = $1 and ordinal >= $2 and ordinal < $3
          and ($4::item_state is null or state = $4)
          and ($5::int[] is null or org_index = any($5))
          and ($6::text is null or user_id = $6)
        order by ordinal limit $7`,
      values: [
        of.importId,
        from,
        to,
        filter.state ?? null,
        filter.orgIndexes ?? null,
        filter.userId ?? null,
        limit - found.length,
      ],
    });
    found.push(...rows);
  }
  return found;
}

export function toView(row: ItemRow, of: ImportResult, orgs: Map<number, string>): ItemView {
  const state = row.state === 'pending' ? openStateOf(of) : row.state.toUpperCase();
  return {
    index: row.ordinal,
    orgId: orgs.get(row.org_index) ?? '',
    userId: row.user_id ?? '',
    userName: row.user_name ?? '',
    state: `ITEM_STATE_${state}`,
    ...(row.error ? { error: row.error } : {}),
    ...(row.kept ? { kept: row.kept.toUpperCase() } : {}),
    ...(row.changed ? { changed: row.changed } : {}),
  };
}

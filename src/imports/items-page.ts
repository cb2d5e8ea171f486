/**
 * The users of an import, one by one: pages of items, the first errors and the first successes.
 * Read from the database by primary key, never from the queue.
 */
import type { Pool } from '../db/pool.ts';
import type { ErrorBody } from '../errors.ts';
import type { ImportResult } from './progress.ts';

export const ITEM_STATES = ['PENDING', 'SUCCEEDED', 'SKIPPED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'UNDONE'] as const;

export interface ItemView {
  index: number;
  orgId: string;
  userId: string;
  userName: string;
  state: string;
  error?: ErrorBody;
}

export interface ItemsQuery {
  /** One of ITEM_STATES. */
  state?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  pageSize: number;
  /** Items from this index on. */
  from: number;
}

interface ItemRow {
  ordinal: number;
  org_id: string;
  user_id: string | null;
  user_name: string | null;
  state: string;
  error: ErrorBody | null;
}

/** One page in body order; `next` is the index to go on with. */
export async function readItems(
  pool: Pool,
  of: ImportResult,
  query: ItemsQuery,
): Promise<{ items: ItemView[]; next: number | undefined }> {
  const stored = storedState(of, query.state);
  if (stored === null) return { items: [], next: undefined };
  const { rows } = await pool.query<ItemRow>(
    `select i.ordinal, o.org_id, i.user_id, i.user_name, i.state, i.error
     from import_items i join import_orgs o on o.import_id = i.import_id and o.org_index = i.org_index
     where i.import_id = $1 and i.ordinal >= $2::bigint
       and ($3::item_state is null or i.state = $3)
       and ($4::text is null or o.org_id = $4)
       and ($5::text is null or i.user_id = $5)
     order by i.ordinal limit $6`,
    [of.importId, query.from, stored ?? null, query.orgId ?? null, query.userId ?? null, query.pageSize + 1],
  );
  const next = rows.length > query.pageSize ? rows.pop()?.ordinal : undefined;
  return { items: rows.map((row) => toView(row, of)), next };
}

/** The state in the table for a state of the contract; null when no item of this import can have it. */
function storedState(of: ImportResult, state: string | undefined): string | undefined | null {
  if (state === undefined) return undefined;
  if (state === 'PENDING' || state === 'TIMED_OUT' || state === 'CANCELLED') {
    return openState(of) === state ? 'pending' : null;
  }
  return state.toLowerCase();
}

/** What a pending row of this import reads as. */
function openState(of: ImportResult): string {
  if (of.state === 'IMPORT_STATE_TIMED_OUT') return 'TIMED_OUT';
  return of.state === 'IMPORT_STATE_CANCELLED' ? 'CANCELLED' : 'PENDING';
}

function toView(row: ItemRow, of: ImportResult): ItemView {
  const state = row.state === 'pending' ? openState(of) : row.state.toUpperCase();
  return {
    index: row.ordinal,
    orgId: row.org_id,
    userId: row.user_id ?? '',
    userName: row.user_name ?? '',
    state: `ITEM_STATE_${state}`,
    ...(row.error ? { error: row.error } : {}),
  };
}

const MAX_ERRORS = 100;
const MAX_SUCCESS = 1000;

/** The full result: progress plus warnings and, as the ecosystem's clients read them, errors and successes. */
export async function readResult(pool: Pool, progress: ImportResult): Promise<Record<string, unknown>> {
  const id = progress.importId;
  const [warnings, failed, succeeded] = await Promise.all([
    pool.query<{ warnings: unknown[] }>('select warnings from imports where id = $1', [id]),
    pool.query<{ user_id: string | null; error: ErrorBody | null }>(
      `select user_id, error from import_items where import_id = $1 and state = 'failed' order by ordinal limit $2`,
      [id, MAX_ERRORS],
    ),
    progress.counts.succeeded === 0
      ? { rows: [] }
      : pool.query<{ org_id: string; user_id: string }>(
          `select o.org_id, i.user_id from import_items i
       join import_orgs o on o.import_id = i.import_id and o.org_index = i.org_index
       where i.import_id = $1 and i.state = 'succeeded' order by i.ordinal limit $2`,
          [id, MAX_SUCCESS],
        ),
  ]);
  const byOrg = Map.groupBy(succeeded.rows as { org_id: string; user_id: string }[], (r) => r.org_id);
  return {
    ...progress,
    warnings: warnings.rows[0]?.warnings ?? [],
    errors: failed.rows.map((r) => ({ type: 'human_user', id: r.user_id ?? '', message: messageOf(r.error) })),
    success: { orgs: [...byOrg].map(([orgId, rows]) => ({ orgId, humanUserIds: rows.map((r) => r.user_id) })) },
  };
}

function messageOf(error: ErrorBody | null): string {
  if (!error) return '';
  const fields = error.details.flatMap((d) => (d.fieldViolations as { field: string; description: string }[]) ?? []);
  if (fields.length === 0) return error.message;
  return fields.map((f) => `${f.field}: ${f.description}`).join('; ');
}

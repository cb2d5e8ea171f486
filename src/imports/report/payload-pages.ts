/**
 * Reads, page by page, the items of an import that can be sent again: pending and failed ones whose data is stored.
 * Guarantee: memory is bounded by one page plus its last entry, however large entries are.
 */

import type { PendingItem } from '../items.ts';
import type { HashDeps } from '../run/hash-item.ts';

const PAGE_ROWS = 200;
/** A page ends after this many bytes; a larger entry is a page of its own. */
const PAGE_BYTES = 4 * 2 ** 20;
const FIRST_STRETCH = 2000;

export interface PayloadRow {
  ordinal: number;
  org_index: number;
  entry_sealed: string | null;
  user_id: string;
  user_name: string;
  user_state: PendingItem['userState'];
  given_name: string;
  family_name: string;
  nick_name: string;
  display_name: string;
  preferred_language: string;
  gender: number;
  email: string | null;
  email_verified: boolean;
  phone: string | null;
  phone_verified: boolean;
  password_hash: string | null;
  password_sealed: string | null;
  totp_sealed: string | null;
  password_change_required: boolean;
  extras: PendingItem['extras'];
}

/**
 * SQL over an item: at most how many bytes its entry takes. Measures only the columns that may be large, without reading
 * them; the other columns have limits. A value that PostgreSQL has compressed is at most 256 times as large.
 */
export const ENTRY_BYTES = `coalesce(octet_length(entry_sealed), 0)
      + coalesce(pg_column_size(extras)::bigint, 0) * case when pg_column_compression(extras) is null then 1 else 256 end`;

// Uses an array instead of a join, because the planner has no statistics yet for rows that were just copied in.
const PAGE = `
with sized as (
  select ordinal, sum(bytes) over (order by ordinal) - bytes as before from (
    select ordinal, ${ENTRY_BYTES} as bytes
    from import_items
    where import_id = $1 and ordinal >= $2 and ordinal < $3 and (user_name_key is not null or entry_sealed is not null)
      and state in ('pending', 'failed') and ($4::item_state is null or state = $4)
    order by ordinal limit ${PAGE_ROWS}) item
)
select * from import_items
where import_id = $1 and ordinal >= $2 and ordinal < $3 and ordinal = any (array(select ordinal from sized where before < ${PAGE_BYTES})) order by ordinal`;

/** In body order. @param state of the items, as stored; absent: all that can be sent again */
export async function* payloadRows(
  { pool }: Pick<HashDeps, 'pool'>,
  of: { importId: string; total: number },
  state: string | undefined,
): AsyncIterable<PayloadRow> {
  let from = 0;
  for (let stretch = FIRST_STRETCH; from < of.total; ) {
    const to = Math.min(from + stretch, of.total);
    const { rows } = await pool.query<PayloadRow>(PAGE, [of.importId, from, to, state ?? null]);
    yield* rows;
    const last = rows.at(-1);
    from = last ? last.ordinal + 1 : to;
    stretch = last ? FIRST_STRETCH : stretch * 2;
  }
}

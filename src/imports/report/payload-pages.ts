/**
 * The items of an import that could be sent again, page by page: those that neither succeeded nor lost what was sent.
 * Guarantee: memory is bounded by a page plus its last entry, however large entries are.
 */

import type { PendingItem } from '../items.ts';
import type { HashDeps } from '../run/hash-item.ts';

const PAGE_ROWS = 200;
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
  email: string;
  email_verified: boolean;
  phone: string | null;
  phone_verified: boolean;
  password_hash: string | null;
  password_sealed: string | null;
  totp_sealed: string | null;
  password_change_required: boolean;
  extras: PendingItem['extras'];
}

// Only what may be large is measured, and none of it read for that; the rest of a row has limits. What PostgreSQL has
// compressed may be 256 times as large at most. An array, and not a join: the planner knows little of rows just copied in.
const PAGE = `
with sized as (
  select ordinal, sum(bytes) over (order by ordinal) - bytes as before from (
    select ordinal, coalesce(octet_length(entry_sealed), 0)
      + coalesce(pg_column_size(extras)::bigint, 0) * case when pg_column_compression(extras) is null then 1 else 256 end
      as bytes
    from import_items
    where import_id = $1 and ordinal >= $2 and ordinal < $3 and (user_name_key is not null or entry_sealed is not null)
      and state in ('pending', 'failed') and ($4::item_state is null or state = $4)
    order by ordinal limit ${PAGE_ROWS}) item
)
select * from import_items
where import_id = $1 and ordinal >= $2 and ordinal < $3 and ordinal = any (array(select ordinal from sized where before < ${PAGE_BYTES})) order by ordinal`;

/** In body order. @param state of the items, as the table has it; absent: all that are left */
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

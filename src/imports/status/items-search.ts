/**
 * Searches the items of an import by the beginning of an address, a user name or a user id.
 *
 * The data of a written user is no longer in their item, so addresses are looked up in `users`, by its indexes; no index
 * is added to the items, as every import would pay for it. The items are then read in body order, for at most
 * MOST_MS: the page of a large import may hold fewer items than asked for, even none, and says where to continue.
 *
 * Guarantee: the pages together hold every match once. Memory and time of a page are bounded.
 */
import type { Pool } from '../../db/pool.ts';
import { nameKey } from '../../fields/fields.ts';
import type { ItemFilter, ItemRow } from './item-row.ts';

/** After this time no further stretch is read, so a page takes about STRETCH_MS more at most. */
const MOST_MS = 120;
/** A stretch is as long as this time allows at the speed of the one before. */
const STRETCH_MS = 40;
const FIRST_STRETCH = 5000;
const LONGEST_STRETCH = 80_000;
/** Users that may match; if there are more, each item's user is looked up instead, as matches are then frequent. */
const MOST_USERS = 2000;
/** The highest character, so that a range holds all texts that begin with its start. */
const LAST = '\u{10FFFF}';

export interface SearchFilter extends ItemFilter {
  /** What an address, user name or id begins with; case counts for ids alone. */
  text: string;
}

/** @returns `next`: where to continue if not everything was read */
export async function searchItems(
  pool: Pool,
  of: { importId: string; total: number; orgIds: readonly string[] },
  limit: number,
  filter: SearchFilter,
): Promise<{ rows: ItemRow[]; next: number | undefined }> {
  const until = performance.now() + MOST_MS;
  const users = await matchingUsers(pool, of.orgIds, filter.text);
  const rows: ItemRow[] = [];
  let stretch = FIRST_STRETCH;
  for (let from = filter.from; from < of.total; ) {
    const to = Math.min(from + stretch, of.total);
    const began = performance.now();
    rows.push(...(await readStretch(pool, of.importId, { from, to, limit: limit - rows.length }, filter, users)));
    const last = rows.at(-1);
    if (rows.length === limit && last) return { rows, next: last.ordinal + 1 };
    stretch = nextStretch(stretch, performance.now() - began);
    from = to;
    if (performance.now() > until && from < of.total) return { rows, next: from };
  }
  return { rows, next: undefined };
}

/** At most twice as long as the one before, so that one fast stretch does not make the next one last long. */
function nextStretch(length: number, ms: number): number {
  return Math.round(Math.min(LONGEST_STRETCH, 2 * length, Math.max(FIRST_STRETCH, (length * STRETCH_MS) / ms)));
}

/** The ids of users whose address begins with the text; undefined when there are too many. */
async function matchingUsers(pool: Pool, orgIds: readonly string[], text: string): Promise<string[] | undefined> {
  const { rows } = await pool.query<{ id: string; org_id: string }>({
    name: 'search-users',
    text: `select id, org_id from users where email_key >= $1 and email_key < $2 limit ${MOST_USERS + 1}`,
    values: [nameKey(text), nameKey(text) + LAST],
  });
  if (rows.length > MOST_USERS) return undefined;
  return rows.filter((row) => orgIds.includes(row.org_id)).map(({ id }) => id);
}

const OF_USERS = 'i.user_id = any($8::text[])';
const OF_EACH_USER = `exists (
  select from users u where u.id = i.user_id and u.email_key is not null and starts_with(u.email_key, $9) and $8::text[] is null)`;

const statement = (isOfMatch: string) => `
select i.ordinal, i.org_index, i.user_id, i.user_name, i.state, i.error, i.kept, i.changed from import_items i
where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3
  and ($4::item_state is null or i.state = $4)
  and ($5::int[] is null or i.org_index = any($5))
  and ($6::text is null or i.user_id = $6)
  and (starts_with(i.user_id, $7) or starts_with(coalesce(i.user_name_key, lower(i.user_name)), $9)
    or starts_with(i.email_key, $9) or ${isOfMatch})
order by i.ordinal limit $10`;

async function readStretch(
  pool: Pool,
  importId: string,
  { from, to, limit }: { from: number; to: number; limit: number },
  { state, orgIndexes, userId, text }: SearchFilter,
  users: string[] | undefined,
): Promise<ItemRow[]> {
  const { rows } = await pool.query<ItemRow>({
    ...(users
      ? { name: 'search-items', text: statement(OF_USERS) }
      : { name: 'search-items-of-users', text: statement(OF_EACH_USER) }),
    values: [importId, from, to, state ?? null, orgIndexes ?? null, userId ?? null, text, users, nameKey(text), limit],
  });
  return rows;
}

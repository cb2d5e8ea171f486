/**
 * Lists the items of an import (one for each user) in body order, page by page, or those whose address, user name or id
 * begins with a text.
 *
 * The data of a written user is no longer in their item, so a search looks addresses up in `users`, by its indexes; no
 * index is added to the items, as every import would pay for it. The items are then read in body order, for at most
 * MOST_MS: the page of a large import may hold fewer items than asked for, even none, and says where to continue.
 *
 * Guarantee: the pages together hold every match once. Memory and time of a page are bounded.
 */
import { openStateOf, storedState } from '../../contract/import-results.ts';
import type { ImportResult, ItemView } from '../../contract/import-types.ts';
import type { Way } from '../../contract/sign-in.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems, Users } from '../../platform/db/tables.ts';
import type { ErrorBody } from '../../platform/errors.ts';
import { nameKey } from '../../platform/fields.ts';
import { HAS_WAY, isOver, openPredictions, type Predictions, type WaySearch, wayBits } from './sign-ins.ts';

/** Items that a scan reads first. */
const FIRST_STRETCH = 2000;

/** After this time a search reads no further stretch is read, so a page takes about STRETCH_MS more at most. */
const MOST_MS = 120;
/** A stretch of a search is as long as this time allows at the speed of the one before. */
const STRETCH_MS = 40;
/** Items that a search reads first. */
const FIRST_SEARCHED = 5000;
const LONGEST_STRETCH = 80_000;
/** Users that may match; if there are more, each item's user is looked up instead, as matches are then frequent. */
const MOST_USERS = 2000;
/** The highest character, so that a range holds all texts that begin with its start. */
const LAST = '\u{10FFFF}';

/** The columns of an item that its outcome is shown from. */
export interface ItemRow
  extends Pick<
    ImportItems,
    'ordinal' | 'org_index' | 'user_id' | 'user_name' | 'state' | 'kept' | 'changed' | 'sign_in' | 'links'
  > {
  error: ErrorBody | null;
}

/**
 * SQL: the items of the import `$1` from `$2` up to `$3`. Of a check it has only those with an outcome to tell; all
 * others are the entries of its draft, as long as these exist, and would be created or are still to be judged.
 */
export const itemsBetween = ({ dryRun }: Pick<ImportResult, 'dryRun'>) =>
  dryRun
    ? `(select ordinal, org_index, user_id, user_name, state, error, kept, changed, sign_in, links, user_name_key, email_key
        from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3
      union all
      select d.ordinal, d.org_index, d.user_id, d.user_name,
        (case when d.ordinal < r.judged_to then 'succeeded' else 'pending' end)::item_state, null, null, null, d.sign_in, d.links, null, null
      from import_dry_runs r join import_items d on d.import_id = r.entries_of and d.ordinal >= $2 and d.ordinal < $3
      where r.import_id = $1 and not exists (
        select from import_items v
        where v.import_id = $1 and v.ordinal >= $2 and v.ordinal < $3 and v.ordinal = d.ordinal))`
    : '(select * from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3)';

/** The name of a statement over `itemsBetween`. */
export const ofKind = (name: string, { dryRun }: ImportResult) => (dryRun ? `${name}-of-dry-run` : name);

/** What items can be filtered by. */
interface ItemFilter {
  /** Items from this index on. */
  from: number;
  /** As stored. */
  state?: string | undefined;
  orgIndexes?: number[] | undefined;
  userId?: string | undefined;
  way?: WaySearch | undefined;
  /** Whether the user has signed in since the import began. */
  hasSignedIn?: boolean | undefined;
}

export interface ItemsQuery {
  /** One of ITEM_STATES. */
  state?: string | undefined;
  orgId?: string | undefined;
  userId?: string | undefined;
  /** What an address, user name or id begins with. */
  query?: string | undefined;
  signIn?: Way | undefined;
  signedIn?: 'true' | 'false' | undefined;
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
  const isNone =
    (query.signIn !== undefined && stored === 'pending' && isOver(of)) ||
    // Nobody of a dry run can sign in, nor can users who were not written.
    (query.signedIn !== undefined && (of.dryRun || (stored !== undefined && stored !== 'succeeded')));
  if (stored === null || isNone) return { items: [], next: undefined };
  const predictions = await openPredictions(pool, of);
  const { orgs } = predictions;
  const filter = {
    from: query.from,
    // The pending users of an undone import have no way.
    state:
      (query.signIn !== undefined && isOver(of)) || query.signedIn !== undefined ? (stored ?? 'succeeded') : stored,
    orgIndexes: query.orgId === undefined ? undefined : indexesOf(orgs, query.orgId),
    userId: query.userId,
    way: query.signIn && predictions.search(query.signIn),
    hasSignedIn: query.signedIn === undefined ? undefined : query.signedIn === 'true',
  };
  if (query.query !== undefined || query.signIn !== undefined || query.signedIn !== undefined) {
    const search = { ...filter, text: query.query };
    const { rows, next } = await searchItems(pool, { of, orgIds: [...orgs.values()] }, query.pageSize, search);
    return { items: rows.map((row) => toView(row, of, predictions)), next };
  }
  const rows = await scanItems(pool, of, query.pageSize + 1, filter);
  const next = rows.length > query.pageSize ? rows.pop()?.ordinal : undefined;
  return { items: rows.map((row) => toView(row, of, predictions)), next };
}

function indexesOf(orgs: Map<number, string>, orgId: string): number[] {
  return [...orgs].filter(([, id]) => id === orgId).map(([index]) => index);
}

/** The first `limit` items from an index on that match the filter, in body order. */
export async function scanItems(pool: Pool, of: ImportResult, limit: number, filter: ItemFilter): Promise<ItemRow[]> {
  const found: ItemRow[] = [];
  for (const [from, to] of inStretches(filter.from, of.counts.total)) {
    if (found.length >= limit) break;
    const { rows } = await pool.query<ItemRow>({
      name: ofKind('items-stretch', of),
      text: `select ordinal, org_index, user_id, user_name, state, error, kept, changed, sign_in, links from ${itemsBetween(of)} i
        where ($4::item_state is null or state = $4)
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

type Kept = NonNullable<ItemView['kept']>;

/** An item as the API shows it. */
export function toView(row: ItemRow, of: ImportResult, predictions: Pick<Predictions, 'orgs' | 'of'>): ItemView {
  const state = row.state === 'pending' ? openStateOf(of) : row.state.toUpperCase();
  const signIn = predictions.of(row);
  return {
    index: row.ordinal,
    orgId: predictions.orgs.get(row.org_index) ?? '',
    userId: row.user_id ?? '',
    userName: row.user_name ?? '',
    state: `ITEM_STATE_${state}`,
    ...(row.error ? { error: row.error } : {}),
    ...(row.kept ? { kept: row.kept.toUpperCase() as Kept } : {}),
    ...(row.changed ? { changed: row.changed } : {}),
    ...(signIn ? { signIn } : {}),
  };
}

export interface SearchFilter extends ItemFilter {
  /** What an address, user name or id begins with; case counts for ids alone. */
  text?: string | undefined;
}

/** @returns `next`: where to continue if not everything was read */
export async function searchItems(
  pool: Pool,
  { of, orgIds }: { of: ImportResult; orgIds: readonly string[] },
  limit: number,
  filter: SearchFilter,
): Promise<{ rows: ItemRow[]; next: number | undefined }> {
  const until = performance.now() + MOST_MS;
  const users = filter.text === undefined ? [] : await matchingUsers(pool, orgIds, filter.text);
  const rows: ItemRow[] = [];
  let stretch = FIRST_SEARCHED;
  for (let from = filter.from; from < of.counts.total; ) {
    const to = Math.min(from + stretch, of.counts.total);
    const began = performance.now();
    rows.push(...(await readStretch(pool, of, { from, to, limit: limit - rows.length }, filter, users)));
    const last = rows.at(-1);
    if (rows.length === limit && last) return { rows, next: last.ordinal + 1 };
    stretch = nextStretch(stretch, performance.now() - began);
    from = to;
    if (performance.now() > until && from < of.counts.total) return { rows, next: from };
  }
  return { rows, next: undefined };
}

/**
 * The length of the next stretch: at most twice as long as the one before, so that one fast stretch does not make the
 * next one last long.
 */
function nextStretch(length: number, ms: number): number {
  return Math.round(Math.min(LONGEST_STRETCH, 2 * length, Math.max(FIRST_SEARCHED, (length * STRETCH_MS) / ms)));
}

/** The ids of users whose address begins with the text; undefined when there are too many. */
async function matchingUsers(pool: Pool, orgIds: readonly string[], text: string): Promise<string[] | undefined> {
  const { rows } = await pool.query<Pick<Users, 'id' | 'org_id'>>({
    name: 'search-users',
    text: `select id, org_id from users where email_key >= $1 and email_key < $2 limit ${MOST_USERS + 1}`,
    values: [nameKey(text), nameKey(text) + LAST],
  });
  if (rows.length > MOST_USERS) return undefined;
  return rows.filter((row) => orgIds.includes(row.org_id)).map(({ id }) => id);
}

const OF_USERS = 'i.user_id = any($10::text[])';
const OF_EACH_USER = `exists (
  select from users u where u.id = i.user_id and u.email_key is not null and starts_with(u.email_key, $11) and $10::text[] is null)`;

/** Users who were there before may have signed in before. `$13` says which are asked for. */
const HAS_SIGNED_IN = `($13::boolean is null or $13 = exists (
  select from users u where u.id = i.user_id
    and u.last_login_at >= (select accepted_at from imports where id = $1)))`;

const searchStatement = (of: ImportResult, isOfMatch: string) => `
select i.ordinal, i.org_index, i.user_id, i.user_name, i.state, i.error, i.kept, i.changed, i.sign_in, i.links from ${itemsBetween(of)} i
where ($4::item_state is null or i.state = $4)
  and ($5::int[] is null or i.org_index = any($5))
  and ($6::text is null or i.user_id = $6)
  and ${HAS_WAY}
  and ${HAS_SIGNED_IN}
  and ($9::text is null or starts_with(i.user_id, $9) or starts_with(coalesce(i.user_name_key, lower(i.user_name)), $11)
    or starts_with(i.email_key, $11) or ${isOfMatch})
order by i.ordinal limit $12`;

/** Of the bits that items of a stretch have, those with the way. */
async function waysIn(
  pool: Pool,
  of: ImportResult,
  { from, to }: { from: number; to: number },
  { has, orgs, kinds, links }: WaySearch,
): Promise<number[]> {
  const { rows } = await pool.query<{ bits: string }>({
    name: ofKind('ways-of-stretch', of),
    text: `select distinct ${wayBits({ orgs: '$4', kinds: '$5', links: '$6' })} as bits from ${itemsBetween(of)} i
      where state in ('pending', 'succeeded')`,
    values: [of.importId, from, to, orgs, kinds, links],
  });
  return rows.map(({ bits }) => Number(bits)).filter(has);
}

async function readStretch(
  pool: Pool,
  of: ImportResult,
  { from, to, limit }: { from: number; to: number; limit: number },
  { state, orgIndexes, userId, way, hasSignedIn, text }: SearchFilter,
  users: string[] | undefined,
): Promise<ItemRow[]> {
  const ways = way && (await waysIn(pool, of, { from, to }, way));
  if (ways?.length === 0) return [];
  const { rows } = await pool.query<ItemRow>({
    ...(users
      ? { name: ofKind('search-items', of), text: searchStatement(of, OF_USERS) }
      : { name: ofKind('search-items-of-users', of), text: searchStatement(of, OF_EACH_USER) }),
    values: [
      of.importId,
      from,
      to,
      state ?? null,
      orgIndexes ?? null,
      userId ?? null,
      ways ?? null,
      way?.orgs ?? null,
      text ?? null,
      users,
      text === undefined ? null : nameKey(text),
      limit,
      hasSignedIn ?? null,
      way?.kinds ?? null,
      way?.links ?? null,
    ],
  });
  return rows;
}

/**
 * Searches users by the caller's queries, all of which must match; results are in the order of user names.
 *
 * Guarantee: the work of a page depends on its offset and its limit, not on the number of users. A page token has no
 * offset: it leads to the next page at once.
 */
import type { Db } from '../../db/pool.ts';
import type { TokenPage } from '../../http/paging.ts';
import type { UserQuery } from '../schema.ts';
import { USER_COLUMNS, type User } from '../store.ts';
import { type Filter, filterOf, type Parameter } from './filter.ts';
import { namesOfPage } from './listing.ts';
import { positionOf, tokenAfter } from './page-token.ts';
import { parameters, type Total, totalOf } from './total.ts';

export interface UserSearch {
  queries: UserQuery[];
  page: TokenPage;
  /** Only users of these organizations are found and counted; absent: all. */
  orgIds?: string[];
}

export interface FoundUsers extends Total {
  users: User[];
  /** Leads to the next page, if there is one. */
  nextPageToken?: string | undefined;
}

const NOTHING: FoundUsers = { total: 0, isEstimate: false, users: [] };

export async function searchUsers(db: Db, { queries, page, orgIds }: UserSearch): Promise<FoundUsers> {
  const filterWith = (parameter: Parameter) => filterOf(queries, parameter, orgIds);
  if (isEmpty(filterWith(() => ''))) return NOTHING;
  // One more than the page has tells whether there is a next page.
  const found = await readPage(db, filterWith, { ...page, limit: page.limit + 1 });
  const users = found.slice(0, page.limit);
  const hasMore = found.length > page.limit;
  const before = page.pageToken === undefined ? page.offset : undefined;
  const total = await totalOf(db, filterWith, { before, users: users.length, hasMore });
  return {
    ...total,
    users: users.map(({ key, ...user }) => user),
    nextPageToken: hasMore ? tokenAfter(users) : undefined,
  };
}

function isEmpty({ orgIds, states }: Filter): boolean {
  return orgIds?.length === 0 || states?.length === 0;
}

type Row = User & { key: string };

async function readPage(db: Db, filterWith: (parameter: Parameter) => Filter, page: TokenPage): Promise<Row[]> {
  const { values, parameter } = parameters();
  const { asc, offset, limit } = page;
  const names = namesOfPage(filterWith(parameter), parameter, {
    asc,
    offset,
    limit,
    after: positionOf(page.pageToken),
  });
  const direction = asc ? 'asc' : 'desc';
  const { rows } = await db.query<Row>(
    `with names as materialized (${names})
     select ${USER_COLUMNS}, u.user_name_key as key from names n
     join users u on u.user_name_key = n.user_name_key and u.org_id = n.org_id
     join organizations o on o.id = u.org_id order by u.user_name_key ${direction}, u.org_id ${direction}`,
    values,
  );
  return rows;
}

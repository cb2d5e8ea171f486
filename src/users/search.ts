/**
 * Searches users by the caller's queries, all of which must match; results are in the order of user names.
 * Each condition is written so that an index serves it: users_name, users_email or the primary key.
 */
import type { Db } from '../db/pool.ts';
import { nameKey } from '../fields/fields.ts';
import type { Page } from '../http/paging.ts';
import { hasLoginName } from './login-names.ts';
import type { UserQuery } from './schema.ts';
import { USER_COLUMNS, type User } from './store.ts';

export interface UserSearch {
  queries: UserQuery[];
  page: Page;
  /** Only users of these organizations are found and counted; absent: all. */
  orgIds?: string[];
}

/** The page of users, and the total number of matches. */
export async function searchUsers(db: Db, search: UserSearch): Promise<{ total: string; users: User[] }> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const conditions = search.queries.map((query) => condition(query, parameter, search.orgIds));
  if (search.orgIds) conditions.push(`u.org_id = any(${parameter(search.orgIds)})`);
  const where = conditions.length > 0 ? `where ${conditions.join(' and ')}` : '';
  // Counts a column without an index: for many rows, a sequential scan beats an index scan that visits every row.
  const { rows } = await db.query<{ total: string }>(`select count(u.sequence) as total from users u ${where}`, values);
  const direction = search.page.asc ? 'asc' : 'desc';
  const order = `order by u.user_name_key ${direction}, u.org_id ${direction}`;
  const paged = `limit ${parameter(search.page.limit)} offset ${parameter(search.page.offset)}`;
  const { rows: users } = await db.query<User>(
    `select ${USER_COLUMNS} from (select * from users u ${where} ${order} ${paged}) u
     join organizations o on o.id = u.org_id ${order}`,
    values,
  );
  return { total: rows[0]?.total ?? '0', users };
}

/** @param orgIds a bare login name is that of the user who had it first in one of them */
function condition(
  query: UserQuery,
  parameter: (value: unknown) => string,
  orgIds: readonly string[] | undefined,
): string {
  const { organizationIdQuery, userNameQuery, loginNameQuery, emailQuery, inUserIdsQuery, stateQuery } = query;
  if (organizationIdQuery) return `u.org_id = ${parameter(organizationIdQuery.organizationId)}`;
  if (userNameQuery) return `u.user_name_key = ${parameter(nameKey(userNameQuery.userName))}`;
  if (loginNameQuery) return hasLoginName(loginNameQuery.loginName, parameter, { orgIds });
  if (emailQuery) return `u.email_key = ${parameter(nameKey(emailQuery.emailAddress))}`;
  if (inUserIdsQuery) return `u.id = any(${parameter(inUserIdsQuery.userIds)})`;
  return stateQuery ? stateCondition(stateQuery.state, parameter) : 'true';
}

/** A deleted user has no row. */
function stateCondition(state: string, parameter: (value: unknown) => string): string {
  if (state === 'USER_STATE_DELETED') return 'false';
  return `u.state = ${parameter(state.replace('USER_STATE_', '').toLowerCase())}`;
}

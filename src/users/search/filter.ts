/**
 * What a search asks for, sorted by how the database finds it.
 *
 * Some queries are true for few users, and an index leads to these: they are `selective`. Organizations, states and
 * prefixes may be true for millions, of which a search reads only as many as it shows (listing.ts).
 */
import { nameKey } from '../../fields/fields.ts';
import { hasLoginName } from '../login-names.ts';
import type { UserQuery } from '../schema.ts';
import type { UserState } from '../store.ts';
import { afterPrefix } from './prefix.ts';

/** Adds a value as a parameter of the statement, and returns its placeholder. */
export type Parameter = (value: unknown) => string;

export interface Filter {
  /** Only users of these organizations; absent: of all. */
  orgIds?: readonly string[] | undefined;
  /** Only users in these states; absent: in all. */
  states?: readonly UserState[] | undefined;
  /** Conditions over `users u` that an index serves on its own. */
  selective: string[];
  /** Conditions over `u.user_name_key`. */
  names: string[];
}

/** @param within the organizations that the caller may search; absent: all */
export function filterOf(queries: UserQuery[], parameter: Parameter, within: readonly string[] | undefined): Filter {
  return {
    orgIds: common(queries.map(orgOf), within),
    states: common(queries.map(stateOf), undefined),
    selective: queries.flatMap((query) => selective(query, parameter, within)),
    names: queries.flatMap((query) => prefix(query, parameter)),
  };
}

/** The values that all lists contain; an absent list contains every value. */
function common<T>(lists: (readonly T[] | undefined)[], first: readonly T[] | undefined): readonly T[] | undefined {
  return lists.reduce((all, list) => (all && list ? all.filter((one) => list.includes(one)) : (all ?? list)), first);
}

function orgOf({ organizationIdQuery }: UserQuery): string[] | undefined {
  return organizationIdQuery && [organizationIdQuery.organizationId];
}

/** A deleted user has no row. */
function stateOf({ stateQuery }: UserQuery): UserState[] | undefined {
  if (!stateQuery) return undefined;
  if (stateQuery.state === 'USER_STATE_DELETED') return [];
  return [stateQuery.state.replace('USER_STATE_', '').toLowerCase() as UserState];
}

/** @param orgIds a bare login name is that of the user who had it first in one of them */
function selective(query: UserQuery, parameter: Parameter, orgIds: readonly string[] | undefined): string[] {
  const { userNameQuery, loginNameQuery, emailQuery, inUserIdsQuery } = query;
  if (userNameQuery && !isPrefix(userNameQuery.method)) {
    return [`u.user_name_key = ${parameter(nameKey(userNameQuery.userName))}`];
  }
  if (loginNameQuery) return [hasLoginName(loginNameQuery.loginName, parameter, { orgIds })];
  if (emailQuery) return [`u.email_key = ${parameter(nameKey(emailQuery.emailAddress))}`];
  return inUserIdsQuery ? [`u.id = any(${parameter(inUserIdsQuery.userIds)}::text[])`] : [];
}

function prefix({ userNameQuery }: UserQuery, parameter: Parameter): string[] {
  if (!userNameQuery || !isPrefix(userNameQuery.method)) return [];
  const start = nameKey(userNameQuery.userName);
  const end = afterPrefix(start);
  const from = `u.user_name_key >= ${parameter(start)}`;
  return end === undefined ? [from] : [from, `u.user_name_key < ${parameter(end)}`];
}

function isPrefix(method: string | undefined): boolean {
  return method?.startsWith('TEXT_QUERY_METHOD_STARTS_WITH') ?? false;
}

/**
 * Searches users by the caller's queries, all of which must match; results are in the order of user names.
 *
 * Some queries are true for few users, and an index leads to these: they are `selective`. Organizations, states and
 * prefixes may be true for millions, of which a search reads only as many as it shows. In organizations, a statement
 * reads the index `users_listed` once for each organization and state, and merges the results, as each of them is in
 * order of names. Without organizations it reads `users_name` in order; states that few users have are in
 * `users_state`.
 *
 * Guarantee: the work of a page depends on its offset and its limit, not on the number of users. A page token has no
 * offset: it leads to the next page at once. Programs that page until they have `total` users miss nobody: the total is
 * exact up to COUNTED, and the estimate above is never below the number of users that the search has shown, and is
 * above it while there may be more.
 */
import {
  isOfWords,
  isPrefix,
  type Position,
  positionOf,
  tokenAfter,
  type UserQuery,
} from '../../contract/user-search.ts';
import { type StateName, stateOfName, USER_STATES, type UserState } from '../../contract/users.ts';
import type { Db } from '../../platform/db/pool.ts';
import { nameKey } from '../../platform/fields.ts';
import type { TokenPage } from '../../platform/http/answers.ts';
import { typedNumber } from '../../platform/phone.ts';
import { hasLoginName, USER_COLUMNS, type User } from './store.ts';

export interface UserSearch {
  queries: UserQuery[];
  page: TokenPage;
  /** Only users of these organizations are found and counted; absent: all. */
  orgIds?: string[] | undefined;
}

export interface FoundUsers extends Total {
  users: User[];
  /** Leads to the next page, if there is one. */
  nextPageToken?: string | undefined;
}

const NOTHING: FoundUsers = { total: 0, isEstimate: false, users: [] };

/** One page of the users that match all queries, and their total. */
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

/** Adds a value as a parameter of the statement, and returns its placeholder. */
export type Parameter = (value: unknown) => string;

/** What a search asks for, sorted by how the database finds it. */
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
  return [stateOfName(stateQuery.state as StateName)];
}

/** @param orgIds a bare login name is that of the user who had it first in one of them */
function selective(query: UserQuery, parameter: Parameter, orgIds: readonly string[] | undefined): string[] {
  const { userNameQuery, loginNameQuery, emailQuery, displayNameQuery, phoneQuery, inUserIdsQuery } = query;
  if (userNameQuery && !isPrefix(userNameQuery.method)) {
    return [`u.user_name_key = ${parameter(nameKey(userNameQuery.userName))}`];
  }
  if (loginNameQuery) return [hasLoginName(loginNameQuery.loginName, parameter, { orgIds })];
  if (emailQuery) return [`u.email_key = ${parameter(nameKey(emailQuery.emailAddress))}`];
  if (displayNameQuery) return displayName(displayNameQuery, parameter);
  if (phoneQuery)
    return [`phone_key(u.phone) = phone_key(${parameter(typedNumber(phoneQuery.number) ?? phoneQuery.number)})`];
  return inUserIdsQuery ? [`u.id = any(${parameter(inUserIdsQuery.userIds)}::text[])`] : [];
}

/**
 * The words of a name, as the index `users_words` has them. Most names have only spaces between their words; those are
 * split at once, as each user that an import writes pays for it.
 * @param name SQL
 */
function wordsOf(name: string): string {
  const spaced = `translate(lower(${name}), '-.,;:''’"()[]/\\_@+&|', '                   ')`;
  return `case when ${name} collate "C" ~ '(^| )( |$)|[-.,;:''’"()\\[\\]/\\\\_@+&|]'
    then array_to_tsvector(array_remove(string_to_array(${spaced}, ' '), ''))
    else array_to_tsvector(string_to_array(lower(${name}), ' ')) end`;
}

/** SQL: each word of the text begins a word of the name. None of the signs that end a word has a meaning in a tsquery. */
function wordsBegin(text: string): string {
  const words = `unnest(tsvector_to_array(${wordsOf(`${text}::text`)})) as t (word)`;
  return `(${wordsOf('u.display_name')}) @@ (select string_agg(quote_literal(word) || ':*', ' & ') from ${words})::tsquery`;
}

/** Compared by the database, whose index has the words of names; the beginning of a word is true for few users. */
function displayName(
  { displayName: text, method }: NonNullable<UserQuery['displayNameQuery']>,
  parameter: Parameter,
): string[] {
  const typed = parameter(text.trim());
  const words = ['u.display_name is not null', wordsBegin(typed)];
  if (isOfWords(method)) return words;
  const key = `lower(${typed}::text) collate "C"`;
  const name = 'lower(u.display_name) collate "C"';
  return [
    ...words,
    ...(isPrefix(method) ? [`${name} >= ${key}`, `${name} < ${key} || chr(1114111)`] : [`${name} = ${key}`]),
  ];
}

function prefix({ userNameQuery }: UserQuery, parameter: Parameter): string[] {
  if (!userNameQuery || !isPrefix(userNameQuery.method)) return [];
  const start = nameKey(userNameQuery.userName);
  const end = afterPrefix(start);
  const from = `u.user_name_key >= ${parameter(start)}`;
  return end === undefined ? [from] : [from, `u.user_name_key < ${parameter(end)}`];
}

/** Which part of the matches a page shows. */
export interface Slice {
  asc: boolean;
  offset: number;
  limit: number;
  after?: Position | undefined;
}

/** The condition of the index `users_listed`, which is true for every user. */
const LISTED = 'u.sequence >= 0';

/** SQL that returns the names (`user_name_key`, `org_id`) of a page's users. */
export function namesOfPage(filter: Filter, parameter: Parameter, slice: Slice): string {
  const direction = slice.asc ? 'asc' : 'desc';
  const order = `order by u.user_name_key ${direction}, u.org_id ${direction}`;
  const most = parameter(slice.offset + slice.limit);
  const matching = matches(filter, parameter, { tail: `${order} limit ${most}`, after: afterwards(slice, parameter) });
  return `select * from (${matching}) u ${order} limit ${parameter(slice.limit)} offset ${parameter(slice.offset)}`;
}

/** SQL that counts the matches, `most` at most. */
export function countUpTo(filter: Filter, parameter: Parameter, most: number): string {
  const tail = `limit ${parameter(most)}`;
  return `select count(*) as total from (select from (${matches(filter, parameter, { tail })}) u ${tail}) u`;
}

/** SQL over `users u` that is true for the matches. */
export function conditionOf({ orgIds, states, selective, names }: Filter, parameter: Parameter): string {
  const conditions = [...selective, ...names];
  if (orgIds) conditions.push(`u.org_id = any(${parameter(orgIds)}::text[])`);
  if (states) conditions.push(`u.state = any(${parameter(states)}::user_state[])`);
  return conditions.join(' and ') || 'true';
}

interface Ranges {
  /** What ends the statement of each range. */
  tail: string;
  after?: { bound: string; exact: string } | undefined;
}

function matches(filter: Filter, parameter: Parameter, { tail, after }: Ranges): string {
  const { orgIds, selective, names } = filter;
  const columns = 'u.user_name_key, u.org_id';
  if (selective.length > 0) {
    const found = `select ${columns} from users u where ${conditionOf(filter, parameter)} offset 0`;
    return `select ${columns} from (${found}) u ${after ? `where ${after.exact}` : ''} ${tail}`;
  }
  if (!orgIds) return `select ${columns} from users u where ${everywhere(filter, after?.exact)} ${tail}`;
  const states = parameter(filter.states ?? USER_STATES);
  const range = [
    LISTED,
    // The index has the hash; two organizations may share one.
    'hashtext(u.org_id) = hashtext(o.id)',
    'u.org_id = o.id',
    'u.state = s.state',
    ...names,
    ...(after ? [after.bound, after.exact] : []),
  ];
  return `select u.* from unnest(${parameter(orgIds)}::text[]) o (id)
    cross join unnest(${states}::user_state[]) s (state)
    cross join lateral (select ${columns} from users u where ${range.join(' and ')} ${tail}) u`;
}

/** A single state is no parameter, so that the planner knows whether `users_state` has it. */
function everywhere({ states, names }: Filter, after: string | undefined): string {
  const [state] = states ?? [];
  const known = USER_STATES.find((one) => one === state);
  return [...names, ...(known ? [`u.state = '${known}'`] : []), ...(after ? [after] : [])].join(' and ') || 'true';
}

function afterwards({ after, asc }: Slice, parameter: Parameter): Ranges['after'] {
  if (!after) return undefined;
  const key = parameter(after.key);
  const than = asc ? '>' : '<';
  return {
    bound: `u.user_name_key ${than}= ${key}`,
    exact: `(u.user_name_key, u.org_id) ${than} (${key}, ${parameter(after.orgId)})`,
  };
}

/** To count this many takes milliseconds. */
export const COUNTED = 10_000;

export interface Total {
  total: number;
  isEstimate: boolean;
}

/** What is known from the page itself. */
export interface Shown {
  /** The users before the page; undefined after a page token. */
  before?: number | undefined;
  users: number;
  /** Whether a further page may have users. */
  hasMore: boolean;
}

/** The number of matches. @param filterWith builds the filter with the parameters of a statement */
export async function totalOf(db: Db, filterWith: (parameter: Parameter) => Filter, shown: Shown): Promise<Total> {
  const counted = await count(db, filterWith);
  if (counted <= COUNTED) return { total: counted, isEstimate: false };
  const { before, users, hasMore } = shown;
  if (before !== undefined && !hasMore && users > 0) return { total: before + users, isEstimate: false };
  const estimate = Math.max(COUNTED + 1, await estimated(db, filterWith));
  if (before === undefined) return { total: estimate, isEstimate: true };
  const total = hasMore ? Math.max(estimate, before + users + 1) : Math.min(estimate, before);
  return { total, isEstimate: true };
}

async function count(db: Db, filterWith: (parameter: Parameter) => Filter): Promise<number> {
  const { values, parameter } = parameters();
  const text = countUpTo(filterWith(parameter), parameter, COUNTED + 1);
  const { rows } = await db.query<{ total: string }>(text, values);
  return Number(rows[0]?.total);
}

/** How many rows the planner expects, by the statistics of the last ANALYZE. */
async function estimated(db: Db, filterWith: (parameter: Parameter) => Filter): Promise<number> {
  const { values, parameter } = parameters();
  const text = `explain (format json) select from users u where ${conditionOf(filterWith(parameter), parameter)}`;
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(text, values);
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** Collects the parameters of a statement. */
export function parameters(): { values: unknown[]; parameter: Parameter } {
  const values: unknown[] = [];
  return { values, parameter: (value) => `$${values.push(value)}` };
}

const LAST = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/**
 * The first text after all texts that begin with `prefix`, in the order of code points, which is that of UTF-8 and of
 * the collation "C"; undefined if there is none.
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === LAST) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.last + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}

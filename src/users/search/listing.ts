/**
 * The statements of a search: which users match, in the order of user names.
 *
 * Guarantee: a statement reads as many index entries as it needs, not as many as there are users. In organizations, it
 * reads the index `users_listed` once for each organization and state, and merges the results, as each of them is in order
 * of names. Without organizations it reads `users_name` in order; states that few users have are in `users_state`.
 */
import type { Filter, Parameter } from './filter.ts';
import type { Position } from './page-token.ts';

export interface Slice {
  asc: boolean;
  offset: number;
  limit: number;
  after?: Position | undefined;
}

/** The condition of the index `users_listed`, which is true for every user. */
const LISTED = 'u.sequence >= 0';
const STATES = ['active', 'inactive', 'locked', 'initial'] as const;

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
  const states = parameter(filter.states ?? STATES);
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
  const known = STATES.find((one) => one === state);
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

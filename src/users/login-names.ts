/**
 * A user's login names: `userName@primaryDomain`, and the bare `userName` (contract section 3). Names compare by
 * `nameKey`.
 *
 * Several organizations may have a user with the same bare name. It belongs to the user who had it first; the others
 * use it where the organization is known, and their full name elsewhere. A full name always wins: the instance's owner
 * gives an organization its domain, and so all names that end with it. Nobody is told whether a name exists elsewhere.
 *
 * "First" is the time at which the transaction began that created the user or gave them this name, then the id of the
 * organization. A user who is deleted or renamed gives the name up; the next one in this order has it from then on.
 */
import { nameKey } from '../fields/fields.ts';

/** SQL over `users u join organizations o`: the full login name. */
export const LOGIN_NAME = `u.user_name || '@' || o.primary_domain`;

/** The names of a user, the preferred one first. */
export function loginNames(user: { userName: string; domain: string }): [string, string] {
  return [`${user.userName}@${user.domain}`, user.userName];
}

/** Where a login name is looked for. */
export interface LoginScope {
  /** Only users of these organizations are found; absent: of all. */
  orgIds?: readonly string[] | undefined;
  /** The organization that the application names: a bare name is that of its user, if it has such a user. */
  orgId?: string | undefined;
}

type Parameter = (value: unknown) => string;

/**
 * SQL over `users u` that is true for the one user with this login name, if there is one.
 * @param parameter adds a value as a parameter and returns its placeholder
 */
export function hasLoginName(loginName: string, parameter: Parameter, { orgIds, orgId }: LoginScope = {}): string {
  const key = nameKey(loginName);
  const bare = parameter(key);
  const within = orgIds ? `and h.org_id = any(${parameter(orgIds)})` : '';
  const named = orgId === undefined ? [] : [bareName(bare, `${within} and h.org_id = ${parameter(orgId)}`)];
  const candidates = [...named, ...fullName(key, parameter), bareName(bare, within)];
  return `u.id = coalesce(${candidates.join(', ')})`;
}

/** The id of the user who had the bare name first. */
function bareName(key: string, within: string): string {
  return `(select h.id from users h where h.user_name_key = ${key} ${within}
    order by coalesce(h.named_at, h.created_at), h.org_id limit 1)`;
}

/** The id of the user with this full name. A domain contains no `@`, so the last one separates the parts. */
function fullName(key: string, parameter: Parameter): string[] {
  const at = key.lastIndexOf('@');
  if (at === -1) return [];
  return [
    `(select f.id from users f where f.user_name_key = ${parameter(key.slice(0, at))}
      and f.org_id = (select q.id from organizations q where q.primary_domain = ${parameter(key.slice(at + 1))}))`,
  ];
}

/**
 * A user's login names: `userName@primaryDomain`, and the bare `userName` (contract section 3). Names compare by
 * `nameKey`.
 *
 * Several organizations may have a user with the same bare name. It belongs to the user who had it first; the others
 * use it where the organization is known, and their full name elsewhere. A full name wins among the users whom the caller
 * may see: the instance's owner gives an organization its domain, and so all names that end with it. Nobody is told
 * whether a name exists elsewhere.
 *
 * To sign in, a verified address counts as well, where no other user of the organization has verified the same one. It
 * belongs to the user who had the text first, as a bare name or as a verified address; names that are older than this rule
 * come before addresses. So no organization can take a name or an address that signs somebody in elsewhere.
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
  const candidates = [...named, ...fullName(key, parameter, { orgIds }), bareName(bare, within)];
  return `u.id = coalesce(${candidates.join(', ')})`;
}

/**
 * SQL over `users u` that is true for the one user who signs in with this text: with a login name or with a verified
 * address, as the organization of the user allows.
 */
export function signsInWith(text: string, parameter: Parameter, { orgIds, orgId }: LoginScope = {}): string {
  const key = nameKey(text);
  const bare = parameter(key);
  const within = orgIds ? `and h.org_id = any(${parameter(orgIds)})` : '';
  const ofName = `${within} and ${allows('h', 'userName')}`;
  const full = fullName(key, parameter, { orgIds, allowed: `and ${allows('f', 'loginName')}` });
  const isAddress = key.includes('@');
  const org = orgId === undefined ? '' : parameter(orgId);
  const named = orgId === undefined ? [] : [bareName(bare, `${ofName} and h.org_id = ${org}`)];
  if (orgId !== undefined && isAddress) named.push(addressOfOrg(bare, within, org));
  const first = isAddress ? firstHolder(bare, ofName, within) : bareName(bare, ofName);
  return `u.id = coalesce(${[...named, ...full, first].join(', ')})`;
}

/** Users of the instance who may have verified the same address; one with more signs nobody in. */
export const MOST_SHARED = 100;
/** Since when addresses sign in: the migration of `addressed_at`. */
const RULE_SINCE = `(select applied_at from migrations where id = 65)`;

function allows(user: string, name: 'userName' | 'loginName' | 'email'): string {
  return `exists (select from organizations a where a.id = ${user}.org_id and '${name}' = any(a.sign_in_names))`;
}

/** Users `h` with this verified address, and whether they are few enough to be compared. */
function withAddress(key: string, within: string): string {
  return `h.email_key = ${key} and h.email_verified ${within} and ${allows('h', 'email')}
    and (select count(*) from (select from users x where x.email_key = ${key} and x.email_verified
      limit ${MOST_SHARED + 1}) shared) <= ${MOST_SHARED}`;
}

/** The id of the only user of the organization with this verified address, unless the text is an older name elsewhere. */
function addressOfOrg(key: string, within: string, org: string): string {
  return `(select min(h.id) from users h where ${withAddress(key, within)} and h.org_id = ${org}
      and not exists (select from users n
        where n.user_name_key = ${key} and coalesce(n.named_at, n.created_at) < ${RULE_SINCE})
    having count(*) = 1)`;
}

/** The id of the user who had the text first, as a bare name or as a verified address that is unique there. */
function firstHolder(key: string, ofName: string, within: string): string {
  return `(select c.id from (
      select h.id, h.org_id, coalesce(h.named_at, h.created_at) as since from users h
      where h.user_name_key = ${key} ${ofName}
      union all
      select min(h.id), h.org_id, min(coalesce(h.addressed_at, greatest(h.created_at, ${RULE_SINCE}))) from users h
      where ${withAddress(key, within)} group by h.org_id having count(*) = 1) c
    order by c.since, c.org_id limit 1)`;
}

/** The id of the user who had the bare name first. */
function bareName(key: string, within: string): string {
  return `(select h.id from users h where h.user_name_key = ${key} ${within}
    order by coalesce(h.named_at, h.created_at), h.org_id limit 1)`;
}

/** The id of the user with this full name. A domain contains no `@`, so the last one separates the parts. */
function fullName(
  key: string,
  parameter: Parameter,
  { orgIds, allowed = '' }: Pick<LoginScope, 'orgIds'> & { allowed?: string },
): string[] {
  const at = key.lastIndexOf('@');
  if (at === -1) return [];
  const within = orgIds ? `and f.org_id = any(${parameter(orgIds)})` : '';
  return [
    `(select f.id from users f where f.user_name_key = ${parameter(key.slice(0, at))} ${within} ${allowed}
      and f.org_id = (select q.id from organizations q where q.primary_domain = ${parameter(key.slice(at + 1))}))`,
  ];
}

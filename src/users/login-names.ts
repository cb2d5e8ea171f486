/**
 * A user's login names: always `userName@primaryDomain`, and the bare `userName` while it is unambiguous (contract
 * section 3). Names compare by `nameKey`.
 *
 * A bare name is ambiguous when a second organization has it, or when it equals the full login name of a user
 * (`ann@acme.org`, where the organization with the domain `acme.org` has an `ann`): the full login name wins.
 */
import { nameKey } from '../fields/fields.ts';

/** SQL over `users u`: the bare name is unambiguous. A domain contains no `@`, so the last one separates the parts. */
export const BARE_NAME_IS_ENOUGH = `not exists (
    select 1 from users v where v.user_name_key = u.user_name_key and v.org_id <> u.org_id)
  and not (u.user_name_key like '%@%' and exists (
    select 1 from organizations p join users w on w.org_id = p.id
    where p.primary_domain = substring(u.user_name_key from '@([^@]*)$')
      and w.user_name_key = regexp_replace(u.user_name_key, '@[^@]*$', '')))`;

/** SQL over `users u join organizations o`: the full login name. */
export const LOGIN_NAME = `u.user_name || '@' || o.primary_domain`;

/** The names of a user, the preferred one first. */
export function loginNames(user: { userName: string; domain: string; bareLogin: boolean }): string[] {
  const full = `${user.userName}@${user.domain}`;
  return user.bareLogin ? [full, user.userName] : [full];
}

/**
 * SQL over `users u` that is true for the one user with this login name, if there is one.
 * @param parameter adds a value as a parameter and returns its placeholder
 */
export function hasLoginName(loginName: string, parameter: (value: unknown) => string): string {
  const key = nameKey(loginName);
  const at = key.lastIndexOf('@');
  const bare = parameter(key);
  if (at === -1) return `(u.user_name_key = ${bare} and ${BARE_NAME_IS_ENOUGH})`;
  const name = parameter(key.slice(0, at));
  const domain = parameter(key.slice(at + 1));
  // The first condition lets the index serve the query; the others decide.
  return `(u.user_name_key in (${bare}, ${name})
    and ((u.user_name_key = ${name} and u.org_id = (select q.id from organizations q where q.primary_domain = ${domain}))
      or (u.user_name_key = ${bare} and ${BARE_NAME_IS_ENOUGH})))`;
}

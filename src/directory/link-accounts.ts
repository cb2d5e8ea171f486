/**
 * SQL about a link `l`, the account of `users u` at a provider: which provider it belongs to, and whose the account is.
 */

/** SQL: the name under which a link `l` knows its provider, as `idp_names` spells it. */
export const NAME = `lower(l.idp_id collate "C")`;

/** SQL: joins `n`, the provider that a link `l` of `users u` belongs to; its columns are null where there is none. */
export const JOIN_PROVIDER = `left join lateral (select * from idp_names(u.org_id) where name = ${NAME}) n on true`;

/** SQL over `l` and `n`: what an account is compared by; a name that leads nowhere stands for itself. */
export const ACCOUNT_OF = `coalesce(n.idp_id, ${NAME})`;

/** SQL over a link `l` of `users u` with its provider `n`: another user of the organization has the account. */
export const IS_HELD_TWICE = `exists (
  select from (select * from user_idp_links where external_user_id = l.external_user_id offset 0) x
    cross join lateral (select id, org_id from users where id = x.user_id offset 0) v
    left join lateral (select idp_id from idp_names(v.org_id) where name = lower(x.idp_id collate "C")) m on true
  where v.org_id = u.org_id and v.id <> u.id
    and coalesce(m.idp_id, lower(x.idp_id collate "C")) = ${ACCOUNT_OF})`;

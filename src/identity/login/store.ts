/** Reads and updates the data of users that a login needs. */
import { type Db, prepared } from '../../db/pool.ts';
import { bareHash } from '../../passwords/pepper.ts';
import { JOIN_AGE_POLICY } from '../../policies/store.ts';
import { LOGIN_NAME, type LoginScope, signsInWith } from '../../users/login-names.ts';
import type { UserState } from '../../users/store.ts';

/** The user that somebody tries to log in as. */
export type LoginUser = ({ loginName: string } | { userId: string }) & LoginScope;

export interface Login {
  id: string;
  orgId: string;
  state: UserState;
  /** The preferred login name. */
  loginName: string;
  displayName: string;
  passwordHash: string | null;
  /** When the password was set, in the database's text form; a new hash of the same password does not change it. */
  passwordSetAt: string | null;
  passwordAgeDays: number;
  changeRequired: boolean;
  maxAgeDays: number;
  expireWarnDays: number;
}

/** The user with an id or a login name; undefined also for a user of another organization than the allowed ones. */
export async function findLogin(db: Db, user: LoginUser): Promise<Login | undefined> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const is = 'userId' in user ? `u.id = ${parameter(user.userId)}` : signsInWith(user.loginName, parameter, user);
  const within = user.orgIds ? `and u.org_id = any(${parameter(user.orgIds)})` : '';
  const text = `select u.id, u.org_id as "orgId", u.state, ${LOGIN_NAME} as "loginName",
       coalesce(u.display_name, '') as "displayName",
       u.password_hash as "passwordHash", u.password_changed_at::text as "passwordSetAt",
       (extract(epoch from now() - coalesce(u.password_changed_at, u.created_at)) / 86400)::float8 as "passwordAgeDays",
       u.password_change_required as "changeRequired",
       p.max_age_days as "maxAgeDays", p.expire_warn_days as "expireWarnDays"
     from users u join organizations o on o.id = u.org_id ${JOIN_AGE_POLICY}
     where ${is} ${within}`;
  const { rows } = await db.query<Login>(prepared(text, values));
  return rows[0];
}

/**
 * The user's state after the check; `code_missing` if the user has a second factor and entered no code. For an active user it records the login: at most once an hour, so that few logins
 * write a new row version, and without a change of the user's sequence. Undefined if the user was deleted or has
 * changed the password since. It locks the row, so it waits for a transaction that removes the user.
 */
export async function settleLogin(
  db: Db,
  login: Pick<Login, 'id' | 'passwordSetAt'>,
  hasCode = true,
): Promise<UserState | 'code_missing' | undefined> {
  const text = `with now as (
      select id, case when not $3::boolean
          and exists (select from user_totp t where t.user_id = u.id and t.confirmed_at is not null)
        then 'code_missing' else state::text end as state
      from users u where id = $1 and password_changed_at is not distinct from $2::timestamptz
      for no key update),
    seen as (
      update users u set last_login_at = now() from now
      where u.id = now.id and now.state = 'active'
        and coalesce(u.last_login_at < now() - interval '1 hour', true))
    select state from now`;
  const values = [login.id, login.passwordSetAt, hasCode];
  const { rows } = await db.query<{ state: UserState | 'code_missing' }>(prepared(text, values));
  return rows[0]?.state;
}

/**
 * Compare and set: keeps a password that was changed since. It is not a change of the user, so there is no event.
 * `rehashed_from` lets an import that brings the old hash again recognise it as the same password.
 */
export async function replaceHash(db: Db, userId: string, from: string, to: string): Promise<void> {
  await db.query(
    `update users set password_hash = $3, rehashed_from = coalesce(rehashed_from, sha256(convert_to($4, 'UTF8')))
     where id = $1 and password_hash = $2`,
    [userId, from, to, bareHash(from)],
  );
}

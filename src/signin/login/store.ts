/** Reads and updates the data of users that a login needs. */
import type { LoginUser } from '../../contract/sessions.ts';
import type { UserState } from '../../contract/users.ts';
import { ORG_IS_ACTIVE } from '../../directory/organizations.ts';
import { FORCES_MFA, JOIN_AGE_POLICY } from '../../directory/policies.ts';
import { LOGIN_NAME, signsInWith, unverifiedHolder } from '../../directory/users/store.ts';
import { originalHash } from '../../passwords/pepper.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import type { PasswordAgePolicies, Users } from '../../platform/db/tables.ts';
import { nameKey } from '../../platform/fields.ts';
import { typedNumber } from '../../platform/phone.ts';

const LOGIN = {
  id: 'id',
  orgId: 'org_id',
  passwordHash: 'password_hash',
  changeRequired: 'password_change_required',
} as const satisfies Names<Users>;

export interface Login extends Named<Users, typeof LOGIN> {
  /** `inactive` also while the organization is not active. */
  state: UserState;
  /** The preferred login name. */
  loginName: string;
  displayName: string;
  /** When the password was set, in the database's text form; a new hash of the same password does not change it. */
  passwordSetAt: string | null;
  passwordAgeDays: number;
  maxAgeDays: PasswordAgePolicies['max_age_days'];
  expireWarnDays: PasswordAgePolicies['expire_warn_days'];
}

/** The user with an id or a login name; undefined also for a user of another organization than the allowed ones. */
export async function findLogin(db: Db, user: LoginUser): Promise<Login | undefined> {
  const found = await findKnown(db, user);
  if (found || 'userId' in user || !user.alsoUnverified) return found;
  const userId = await unverifiedHolder(db, user.loginName, user);
  return userId === undefined ? undefined : findKnown(db, { userId });
}

async function findKnown(db: Db, user: LoginUser): Promise<Login | undefined> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const is = 'userId' in user ? `u.id = ${parameter(user.userId)}` : signsInWith(user.loginName, parameter, user);
  const within = user.orgIds ? `and u.org_id = any(${parameter(user.orgIds)})` : '';
  const text = `select ${columnList(LOGIN, 'u')}, case when ${ORG_IS_ACTIVE} then u.state else 'inactive' end as state,
       ${LOGIN_NAME} as "loginName",
       coalesce(u.display_name, '') as "displayName",
       u.password_changed_at::text as "passwordSetAt",
       (extract(epoch from now() - coalesce(u.password_changed_at, u.created_at)) / 86400)::float8 as "passwordAgeDays",
       p.max_age_days as "maxAgeDays", p.expire_warn_days as "expireWarnDays"
     from users u join organizations o on o.id = u.org_id ${JOIN_AGE_POLICY}
     where ${is} ${within}`;
  const { rows } = await db.query<Login>(prepared(text, values));
  return rows[0];
}

/**
 * Whether the person may mean a user of another organization than the one that was found. They do not if the
 * application names the organization of the user found. If it names another one, only the full login name is enough;
 * and never a text that is also the name, an address, verified or not, or a verified number of a user of another
 * organization in the scope.
 */
export async function mayMeanAnother(db: Db, tried: LoginUser, { orgId, loginName }: Login): Promise<boolean> {
  if ('userId' in tried || tried.orgId === orgId) return false;
  const key = nameKey(tried.loginName);
  const phone = typedNumber(tried.loginName);
  if (tried.orgId !== undefined && key !== nameKey(loginName)) return true;
  const inScope = '($3::text[] is null or org_id = any($3))';
  // Ranges of an index, so that many users of the organization itself are not read.
  const hasAddress = (compare: '<' | '>') =>
    `exists (select from users
       where email_key = $1 and email_verified = any('{true,false}') and org_id ${compare} $2 and ${inScope})`;
  const hasPhone = (compare: '<' | '>') =>
    `exists (select from users where phone_key(phone) = $4 and phone_verified and org_id ${compare} $2 and ${inScope})`;
  const { rows } = await db.query<{ is: boolean }>(
    prepared(
      `select exists (select from users where user_name_key = $1 and org_id <> $2 and ${inScope})
         or ${hasAddress('<')} or ${hasAddress('>')} or ${hasPhone('<')} or ${hasPhone('>')} as is`,
      [key, orgId, tried.orgIds ?? null, phone ?? null],
    ),
  );
  return rows[0]?.is === true;
}

/** Whether the policy of the user's organization requires a second factor. */
export async function mustHaveFactor(db: Db, userId: string): Promise<boolean> {
  const { rows } = await db.query<{ forced: boolean }>(
    prepared(`select ${FORCES_MFA} as forced from users u where u.id = $1`, [userId]),
  );
  return rows[0]?.forced === true;
}

/**
 * Compare and set: keeps a password that was changed since. It is not a change of the user, so there is no event.
 * `rehashed_from` lets an import that brings the old hash again recognise it as the same password.
 */
export async function replaceHash(db: Db, userId: string, from: string, to: string): Promise<void> {
  await db.query(
    `update users set password_hash = $3, rehashed_from = coalesce(rehashed_from, sha256(convert_to($4, 'UTF8')))
     where id = $1 and password_hash = $2`,
    [userId, from, to, originalHash(from)],
  );
}

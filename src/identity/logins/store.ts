/**
 * Where a user is logged in: sessions that programs opened, browsers, and applications that hold tokens. Personal access
 * tokens and keys of machine users are not logins.
 *
 * On crash: the transaction is rolled back, and nothing has ended.
 */
import type { Caller } from '../../access/caller.ts';
import { revokeSessions } from '../../access/revocation.ts';
import type { Db } from '../../db/pool.ts';

const TYPES = ['session', 'browser', 'application'] as const;
export type LoginType = (typeof TYPES)[number];

export interface Login {
  type: LoginType;
  id: string;
  /** Of an application. */
  clientId: string | null;
  /** Of an application that is registered, and of the program that opened a session. */
  clientName: string | null;
  /** Of the person, when they last used it; null if it is not known. */
  address: string | null;
  userAgent: string | null;
  createdAt: Date;
  /** Null for sessions: programs keep their use to themselves. */
  lastUsedAt: Date | null;
  expiresAt: Date;
  /** The uid of a browser's session, as tokens name it. */
  browser: string | null;
}

/** The most logins that a list has. */
export const MOST_LISTED = 100;

const LOGINS = `
  select 'session' as type, s.id, null as "clientId", p.machine_name as "clientName",
    s.address, null as "userAgent", s.created_at as "createdAt", null::timestamptz as "lastUsedAt",
    s.created_at + $2 * interval '1 day' as "expiresAt", null as browser
  from sessions s left join users p on p.id = s.opened_by
  where s.user_id = $1 and s.created_at > now() - $2 * interval '1 day'
  union all
  select case m.kind when 'Session' then 'browser' else 'application' end, encode(m.id_hash, 'hex'),
    case m.kind when 'Grant' then m.client_id end, case m.kind when 'Grant' then c.name end, m.address, m.user_agent,
    to_timestamp(coalesce(m.payload ->> 'loginTs', m.payload ->> 'iat')::float8),
    greatest(m.used_at, t.issued_at), m.expires_at, m.session_uid
  from oauth_models m left join oauth_clients c on c.id = m.client_id
    cross join lateral (
      select count(*) as tokens, to_timestamp(max((t.payload ->> 'iat')::float8)) as issued_at from oauth_models t
      where m.kind = 'Grant' and t.grant_hash = m.id_hash and t.kind in ('AccessToken', 'RefreshToken')
        and t.expires_at > now()) t
  where m.user_id = $1 and m.expires_at > now() and (m.kind = 'Session' or m.kind = 'Grant' and t.tokens > 0)`;

/** @param days the lifetime of sessions @returns the newest first, at most MOST_LISTED */
export async function listLogins(db: Db, userId: string, days: number): Promise<Login[]> {
  const { rows } = await db.query<Login>(`${LOGINS} order by "createdAt" desc, id limit ${MOST_LISTED}`, [
    userId,
    days,
  ]);
  return rows;
}

/**
 * Ends one login of the user: with a browser, the tokens that depend on it, and with an application, all of its tokens.
 * @returns its type; undefined when the user has no such login
 */
export async function endLogin(db: Db, userId: string, id: string): Promise<LoginType | undefined> {
  const session = await db.query('delete from sessions where id = $1 and user_id = $2', [id, userId]);
  if (session.rowCount) return 'session';
  if (!/^[0-9a-f]{64}$/.test(id)) return undefined;
  const { rows } = await db.query<{ kind: string }>(
    `delete from oauth_models where id_hash = decode($1, 'hex') and user_id = $2 and kind in ('Session', 'Grant')
     returning kind`,
    [id, userId],
  );
  if (!rows[0]) return undefined;
  return rows[0].kind === 'Session' ? 'browser' : 'application';
}

/** The login that a person uses for this call. */
export type CurrentLogin = NonNullable<Caller['login']>;

/** Whether it is the application or the browser of the call. */
export function isCurrent({ id, browser }: Login, current: CurrentLogin | undefined): boolean {
  return current !== undefined && (id === current.application || (browser !== null && browser === current.browser));
}

/** Ends all logins of the user but the one of the call. Grants first, as `revokeLogins` does. */
export async function endOtherLogins(db: Db, userId: string, current: CurrentLogin): Promise<void> {
  await revokeSessions(db, userId);
  const application = Buffer.from(current.application, 'hex');
  await db.query(`delete from oauth_models where user_id = $1 and kind = 'Grant' and id_hash <> $2`, [
    userId,
    application,
  ]);
  await db.query(
    `delete from oauth_models where user_id = $1 and id_hash <> $2 and grant_hash is distinct from $2
       and not (kind = 'Session' and session_uid is not distinct from $3)`,
    [userId, application, current.browser ?? null],
  );
}

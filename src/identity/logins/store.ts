/**
 * Where a user is logged in: sessions that programs opened, browsers, and applications that hold tokens. Personal access
 * tokens and keys of machine users are not logins.
 *
 * On crash: the transaction is rolled back, and nothing has ended.
 */
import type { Db } from '../../db/pool.ts';

const TYPES = ['session', 'browser', 'application'] as const;
export type LoginType = (typeof TYPES)[number];

export interface Login {
  type: LoginType;
  id: string;
  /** Of an application. */
  clientId: string | null;
  /** Null for the applications that are built in. */
  clientName: string | null;
  createdAt: Date;
  expiresAt: Date;
}

/** The most logins that a list has. */
export const MOST_LISTED = 100;

const LOGINS = `
  select 'session' as type, s.id, null as "clientId", null as "clientName", s.created_at as "createdAt",
    s.created_at + $2 * interval '1 day' as "expiresAt"
  from sessions s where s.user_id = $1 and s.created_at > now() - $2 * interval '1 day'
  union all
  select case m.kind when 'Session' then 'browser' else 'application' end, encode(m.id_hash, 'hex'),
    case m.kind when 'Grant' then m.client_id end, case m.kind when 'Grant' then c.name end,
    to_timestamp(coalesce(m.payload ->> 'loginTs', m.payload ->> 'iat')::float8), m.expires_at
  from oauth_models m left join oauth_clients c on c.id = m.client_id
  where m.user_id = $1 and m.expires_at > now() and (m.kind = 'Session' or m.kind = 'Grant' and exists (
    select from oauth_models t
    where t.grant_hash = m.id_hash and t.kind in ('AccessToken', 'RefreshToken') and t.expires_at > now()))`;

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

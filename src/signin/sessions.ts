/**
 * Sessions, and all places where a user is logged in: sessions that programs opened, browsers, and applications that
 * hold tokens. Personal access tokens and keys of machine users are not logins. Only the SHA-256 of a session's token
 * is stored; the token is not a bearer token.
 *
 * A session in which nothing was checked yet is not open, nor one in which the second factor is missing: it waits for a
 * code or a passkey, for little longer than that is valid, and is no login.
 *
 * Guarantee: only active users have sessions that are open. A session ends after SESSION_TTL_DAYS, when it or the user is deleted, or
 * when the user stops being active. While their organization is not active, their sessions do not count.
 */
import type { Caller } from '../contract/permissions.ts';
import { ORG_IS_ACTIVE } from '../directory/organizations.ts';
import { revokeSessions } from '../directory/revocation.ts';
import { signInEvent } from '../directory/sign-in-events.ts';
import { LOGIN_NAME } from '../directory/users/store.ts';
import {
  type AppendedEvent,
  appendEvent,
  auditValues,
  auditWhere,
  eventValues,
  eventWhere,
  type NewEvent,
  recordAudit,
} from '../platform/db/events.ts';
import { type Db, prepared } from '../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../platform/db/rows.ts';
import { sweepRows } from '../platform/db/sweep.ts';
import type { OauthModels, Sessions, Users } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import { newId, tokenHash } from '../platform/ids.ts';
import type { FactorKind, FirstFactor } from './factors/second-factor.ts';
import type { CheckedLogin } from './login/check.ts';

const SESSION = {
  id: 'id',
  userId: 'user_id',
  /** When a code of an authenticator app was checked, if one was. */
  totpVerifiedAt: 'totp_verified_at',
  /** When a recovery code was used, if one was. */
  recoveryCodeVerifiedAt: 'recovery_code_verified_at',
  /** Whether the password was checked. */
  passwordVerified: 'password_verified',
  /** When the code by mail was checked, if there was one. */
  otpEmailVerifiedAt: 'otp_email_verified_at',
  /** When the code by text message was checked, if there was one. */
  otpSmsVerifiedAt: 'otp_sms_verified_at',
  /** When a passkey or security key was checked, if one was, and whether it has verified its user. */
  webauthnVerifiedAt: 'webauthn_verified_at',
  webauthnUserVerified: 'webauthn_user_verified',
  /** When an external provider said who it is, if one did. */
  intentVerifiedAt: 'intent_verified_at',
  /** Of the person, if the program named it. */
  address: 'address',
  /** The program that opened it. */
  openedBy: 'opened_by',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
} as const satisfies Names<Sessions>;

export interface Session extends Named<Sessions, typeof SESSION> {
  orgId: Users['org_id'];
  loginName: string;
  displayName: string;
  expiresAt: Date;
}

/** A login that was checked with a password, a code by mail, or by a provider. */
type Checked = Pick<CheckedLogin, 'id' | 'orgId' | 'amr' | 'passwordSetAt' | 'provided' | 'factor'>;

/** Where a session keeps when our second factor was checked; that of a provider is not ours. */
const FACTOR_COLUMNS: Readonly<Record<FactorKind, keyof Sessions>> = {
  totp: 'totp_verified_at',
  recoveryCode: 'recovery_code_verified_at',
  otpEmail: 'otp_email_verified_at',
  otpSms: 'otp_sms_verified_at',
  webAuthN: 'webauthn_verified_at',
};
const FACTORS = Object.entries(FACTOR_COLUMNS);

/** The sequence of a session is the sequence of its event. */
const ADD = `with allowed as materialized (
    select from users where id = $1 and state = 'active' and password_changed_at is not distinct from $2::timestamptz
      and org_is_active(org_id)
    for share),
  ${eventWhere('allowed', 9)},
  signed_in as (${auditWhere('added', 28)}),
  opened as (
    insert into sessions (id, user_id, token_hash, sequence, address, opened_by, password_verified, intent_verified_at,
      ${FACTORS.map(([, column]) => column).join(', ')})
    select $3, $1, $4::bytea, sequence, $6::text, $7::text, not $8::boolean, case when $8::boolean then created_at end,
      ${FACTORS.map(([kind]) => `case when $5::text = '${kind}' then created_at end`).join(', ')} from added)
  select sequence, created_at as "createdAt" from added`;

/**
 * Adds a session, and records that the user signed in; undefined if the user was deleted, is no longer active, or has
 * changed the password since the check. Its lock makes concurrent changes of the user wait and then see the session, so
 * `revokeSessions` misses none.
 * @param editor the program that opens it @param address of the person, if the program named it
 */
export async function addSession(
  db: Db,
  user: Checked,
  token: string,
  editor: string,
  address?: string,
): Promise<(AppendedEvent & { id: string }) | undefined> {
  const id = newId();
  const event = eventValues(sessionEvent({ id, userId: user.id, orgId: user.orgId }, 'added', editor));
  const signIn = auditValues(signInEvent(user, user.amr, user.provided?.idpId));
  const checked = [user.factor?.kind ?? null, address ?? null, editor, user.provided !== undefined];
  const values = [user.id, user.passwordSetAt, id, tokenHash(token), ...checked, ...event, ...signIn];
  const { rows } = await db.query<AppendedEvent>(prepared(ADD, values));
  return rows[0] && { ...rows[0], id };
}

/** SQL over `sessions s`: something was checked. */
const IS_OPEN = `(s.password_verified or coalesce(s.otp_email_verified_at, s.otp_sms_verified_at, s.intent_verified_at,
  s.webauthn_verified_at) is not null)`;
/** SQL: how long a session waits for its first code; it may ask for further ones meanwhile. */
const WAITS = `interval '1 hour'`;

/** @param days the lifetime of sessions; undefined when the session does not exist or has ended */
export async function findSession(db: Db, id: string, days: number): Promise<Session | undefined> {
  const { rows } = await db.query<Session>(
    `select ${columnList(SESSION, 's')}, u.org_id as "orgId", ${LOGIN_NAME} as "loginName",
       coalesce(u.display_name, '') as "displayName", s.created_at + $2 * interval '1 day' as "expiresAt"
     from sessions s join users u on u.id = s.user_id join organizations o on o.id = u.org_id
     where s.id = $1 and s.created_at > now() - $2 * interval '1 day' and ${ORG_IS_ACTIVE}
       and (${IS_OPEN} or s.created_at > now() - ${WAITS})`,
    [id, days],
  );
  return rows[0];
}

/** Adds a session that waits for a code. The user's row is locked. @param sequence of the event that asked for the code */
export async function addWaitingSession(
  db: Db,
  session: { id: string; userId: string; sequence: string; editor: string; address: string | undefined },
  token: string,
): Promise<void> {
  const { id, userId, sequence, editor, address } = session;
  await db.query(
    `insert into sessions (id, user_id, token_hash, sequence, address, opened_by, password_verified)
     values ($1, $2, $3, $4, $5, $6, false)`,
    [id, userId, tokenHash(token), sequence, address ?? null, editor],
  );
}

/** What opens a session that waits, by the first factor. */
const OPENS: Partial<Record<FirstFactor, string>> = {
  mail: 'otp_email_verified_at = $3',
  sms: 'otp_sms_verified_at = $3',
  provider: 'intent_verified_at = $3',
  passkey: 'webauthn_verified_at = $3',
  password: 'password_verified = true',
};

/**
 * Records what was checked in a session, in the caller's transaction, as `addSession` records a sign-in.
 * @param first the first factor
 * @returns undefined if the session was deleted, or the user is no longer active or has changed the password since
 */
export async function openWaiting(
  db: Db,
  session: Session,
  user: Checked,
  token: string,
  first: FirstFactor,
): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query(
    `select from users where id = $1 and state = 'active' and password_changed_at is not distinct from $2::timestamptz
       and org_is_active(org_id) for share`,
    [user.id, user.passwordSetAt],
  );
  if (!rowCount) return undefined;
  const event = await appendEvent(db, sessionEvent(session, 'added', session.openedBy ?? user.id));
  const second = user.factor && `${FACTOR_COLUMNS[user.factor.kind]} = $3`;
  const verified = user.factor?.userVerified ? 'webauthn_user_verified = true' : undefined;
  const set = new Set([OPENS[first], second, verified].filter((one) => one !== undefined));
  const changed = await db.query(
    `update sessions set ${[...set].join(', ')}, changed_at = $3,
       token_hash = $4, sequence = $5 where id = $1 and user_id = $2`,
    [session.id, user.id, event.createdAt, tokenHash(token), event.sequence],
  );
  if (!changed.rowCount) throw sessionNotFound();
  await recordAudit(db, signInEvent(user, user.amr, user.provided?.idpId));
  return event;
}

/** Gives a session another token. */
export async function renewToken(db: Db, id: string, sequence: string, token: string): Promise<void> {
  const text = 'update sessions set token_hash = $2, sequence = $3, changed_at = now() where id = $1';
  await db.query(text, [id, tokenHash(token), sequence]);
}

/** Whether this is the token of the session. */
export async function isTokenOf(db: Db, id: string, token: string): Promise<boolean> {
  return (
    (await db.query('select from sessions where id = $1 and token_hash = $2', [id, tokenHash(token)])).rowCount === 1
  );
}

/** The error for a session that does not exist or has ended. */
export function sessionNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'SESSION-NOT-FOUND', 'The session does not exist.');
}

/** Deletes a session; undefined if it is already deleted. */
export async function removeSession(db: Db, session: Session, editor: string): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from sessions where id = $1', [session.id]);
  return rowCount ? appendEvent(db, sessionEvent(session, 'removed', editor)) : undefined;
}

/** Removes one batch of sessions that have ended by themselves; returns how many. */
export function sweepSessions(db: Db, days: number): Promise<number> {
  const expired = { table: 'sessions', where: `created_at < now() - $1 * interval '1 day'`, order: 'created_at' };
  return sweepRows(db, expired, [days]);
}

/** Removes one batch of sessions whose code nobody entered; returns how many. */
export function sweepWaitingSessions(db: Db): Promise<number> {
  const where = `not password_verified
    and coalesce(otp_email_verified_at, otp_sms_verified_at, intent_verified_at, webauthn_verified_at) is null
    and created_at < now() - ${WAITS}`;
  return sweepRows(db, { table: 'sessions', where, order: 'created_at' });
}

function sessionEvent(
  session: { id: string; userId: string; orgId: string },
  change: string,
  editor: string,
): NewEvent {
  return {
    aggregateType: 'user',
    aggregateId: session.userId,
    resourceOwner: session.orgId,
    type: `user.session.${change}`,
    editor,
    payload: { sessionId: session.id },
  };
}

const TYPES = ['session', 'browser', 'application'] as const;
/** What a user is logged in with. */
export type LoginType = (typeof TYPES)[number];

export interface Login {
  type: LoginType;
  id: string;
  /** The client id of an application. */
  clientId: string | null;
  /** The name of a registered application, or of the program that opened a session. */
  clientName: string | null;
  /** The address of the person at the last use; null if it is not known. */
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
  where s.user_id = $1 and s.created_at > now() - $2 * interval '1 day' and ${IS_OPEN}
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
  const { rows } = await db.query<Pick<OauthModels, 'kind'>>(
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

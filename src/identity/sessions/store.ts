/**
 * Sessions. Only the SHA-256 of a session's token is stored; the token is not a bearer token.
 * Guarantee: only active users have sessions. A session ends after SESSION_TTL_DAYS, when it or the user is deleted, or
 * when the user stops being active.
 */

import { tokenHash } from '../../access/random-token.ts';
import { signInEvent } from '../../audit/sign-ins.ts';
import { auditValues, auditWhere } from '../../db/audit.ts';
import { type AppendedEvent, appendEvent, eventValues, eventWhere, type NewEvent } from '../../db/events.ts';
import { type Db, prepared } from '../../db/pool.ts';
import { sweepRows } from '../../db/sweep.ts';
import { newId } from '../../ids.ts';
import { LOGIN_NAME } from '../../users/login-names.ts';

export interface Session {
  id: string;
  userId: string;
  orgId: string;
  loginName: string;
  displayName: string;
  /** When the one-time password was checked, if there was one. */
  totpVerifiedAt: Date | null;
  sequence: string;
  createdAt: Date;
  changedAt: Date;
  expiresAt: Date;
}

/** The sequence of the event is that of the session. */
const ADD = `with allowed as materialized (
    select from users where id = $1 and state = 'active' and password_changed_at is not distinct from $2::timestamptz
    for share),
  ${eventWhere('allowed', 8)},
  signed_in as (${auditWhere('added', 27)}),
  opened as (
    insert into sessions (id, user_id, token_hash, sequence, totp_verified_at, address, opened_by)
    select $3, $1, $4::bytea, sequence, case when $5::boolean then created_at end, $6::text, $7::text from added)
  select sequence, created_at as "createdAt" from added`;

/**
 * Adds a session, and records that the user signed in; undefined if the user was deleted, is no longer active, or has
 * changed the password since the check. Its lock makes concurrent changes of the user wait and then see the session, so
 * `revokeSessions` misses none.
 * @param editor the program that opens it @param address of the person, if the program named it
 */
export async function addSession(
  db: Db,
  user: { id: string; orgId: string; amr: readonly string[]; passwordSetAt: string | null },
  token: string,
  editor: string,
  address?: string,
): Promise<(AppendedEvent & { id: string }) | undefined> {
  const id = newId();
  const event = eventValues(sessionEvent({ id, userId: user.id, orgId: user.orgId }, 'added', editor));
  const signIn = auditValues(signInEvent(user, user.amr));
  const own = [user.id, user.passwordSetAt, id, tokenHash(token), user.amr.includes('otp'), address ?? null, editor];
  const values = [...own, ...event, ...signIn];
  const { rows } = await db.query<AppendedEvent>(prepared(ADD, values));
  return rows[0] && { ...rows[0], id };
}

/** @param days the lifetime of sessions; undefined when the session does not exist or has ended */
export async function findSession(db: Db, id: string, days: number): Promise<Session | undefined> {
  const { rows } = await db.query<Session>(
    `select s.id, s.user_id as "userId", u.org_id as "orgId", ${LOGIN_NAME} as "loginName",
       coalesce(u.display_name, '') as "displayName", s.totp_verified_at as "totpVerifiedAt",
       s.sequence, s.created_at as "createdAt", s.changed_at as "changedAt",
       s.created_at + $2 * interval '1 day' as "expiresAt"
     from sessions s join users u on u.id = s.user_id join organizations o on o.id = u.org_id
     where s.id = $1 and s.created_at > now() - $2 * interval '1 day'`,
    [id, days],
  );
  return rows[0];
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

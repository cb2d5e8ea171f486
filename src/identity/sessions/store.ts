/**
 * Sessions. Only the SHA-256 of a session's token is stored; the token is not a bearer token.
 * Guarantee: only active users have sessions. A session ends after SESSION_TTL_DAYS, when it or the user is deleted, or
 * when the user stops being active.
 */

import { tokenHash } from '../../access/random-token.ts';
import { type AppendedEvent, appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';
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

/**
 * Adds a session; undefined if the user was deleted, is no longer active, or has changed the password since the check.
 * Its lock makes concurrent changes of the user wait and then see the session, so `revokeSessions` misses none.
 */
export async function addSession(
  db: Db,
  user: { id: string; orgId: string; amr: readonly string[]; passwordSetAt: string | null },
  token: string,
  editor: string,
): Promise<(AppendedEvent & { id: string }) | undefined> {
  const { rowCount } = await db.query(
    `select 1 from users where id = $1 and state = 'active' and password_changed_at is not distinct from $2::timestamptz
     for share`,
    [user.id, user.passwordSetAt],
  );
  if (!rowCount) return undefined;
  const id = newId();
  const event = await sessionEvent(db, { id, userId: user.id, orgId: user.orgId }, 'added', editor);
  await db.query(
    'insert into sessions (id, user_id, token_hash, sequence, totp_verified_at) values ($1, $2, $3, $4, $5)',
    [id, user.id, tokenHash(token), event.sequence, user.amr.includes('otp') ? event.createdAt : null],
  );
  return { ...event, id };
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
  return rowCount ? sessionEvent(db, session, 'removed', editor) : undefined;
}

/** Removes one batch of sessions that have ended by themselves; returns how many. */
export function sweepSessions(db: Db, days: number): Promise<number> {
  const expired = { table: 'sessions', where: `created_at < now() - $1 * interval '1 day'`, order: 'created_at' };
  return sweepRows(db, expired, [days]);
}

function sessionEvent(
  db: Db,
  session: { id: string; userId: string; orgId: string },
  change: string,
  editor: string,
): Promise<AppendedEvent> {
  return appendEvent(db, {
    aggregateType: 'user',
    aggregateId: session.userId,
    resourceOwner: session.orgId,
    type: `user.session.${change}`,
    editor,
    payload: { sessionId: session.id },
  });
}

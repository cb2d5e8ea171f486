/** Sessions, and users as a login sees them. A session's token is stored as SHA-256 only and is no bearer token. */
import { type AppendedEvent, appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';
import { newId } from '../../ids.ts';
import { hasLoginName, LOGIN_NAME } from '../../users/login-names.ts';
import type { UserState } from '../../users/store.ts';
import { tokenHash } from '../random-token.ts';
import type { SessionUser } from './schema.ts';

export interface Login {
  id: string;
  orgId: string;
  state: UserState;
  passwordHash: string | null;
}

/** The user with an id or a login name. */
export async function findLogin(db: Db, user: SessionUser): Promise<Login | undefined> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const is =
    user.userId === undefined ? hasLoginName(user.loginName ?? '', parameter) : `u.id = ${parameter(user.userId)}`;
  const { rows } = await db.query<Login>(
    `select u.id, u.org_id as "orgId", u.state, u.password_hash as "passwordHash" from users u where ${is}`,
    values,
  );
  return rows[0];
}

export interface Session {
  id: string;
  userId: string;
  orgId: string;
  loginName: string;
  displayName: string;
  sequence: string;
  createdAt: Date;
  changedAt: Date;
}

/** Adds a session, unless the user is gone or no longer active; then undefined. */
export async function addSession(
  db: Db,
  user: { id: string; orgId: string },
  token: string,
  editor: string,
): Promise<(AppendedEvent & { id: string }) | undefined> {
  const { rowCount } = await db.query(`select 1 from users where id = $1 and state = 'active' for key share`, [
    user.id,
  ]);
  if (!rowCount) return undefined;
  const id = newId();
  const event = await sessionEvent(db, { id, userId: user.id, orgId: user.orgId }, 'added', editor);
  await db.query('insert into sessions (id, user_id, token_hash, sequence) values ($1, $2, $3, $4)', [
    id,
    user.id,
    tokenHash(token),
    event.sequence,
  ]);
  return { ...event, id };
}

export async function findSession(db: Db, id: string): Promise<Session | undefined> {
  const { rows } = await db.query<Session>(
    `select s.id, s.user_id as "userId", u.org_id as "orgId", ${LOGIN_NAME} as "loginName",
       coalesce(u.display_name, '') as "displayName", s.sequence, s.created_at as "createdAt", s.changed_at as "changedAt"
     from sessions s join users u on u.id = s.user_id join organizations o on o.id = u.org_id
     where s.id = $1`,
    [id],
  );
  return rows[0];
}

/** Ends a session; undefined when somebody else did already. */
export async function removeSession(db: Db, session: Session, editor: string): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from sessions where id = $1', [session.id]);
  return rowCount ? sessionEvent(db, session, 'removed', editor) : undefined;
}

/** Compare and set: a password that was changed meanwhile stays. Not a change of the user, so no event. */
export async function replaceHash(db: Db, userId: string, from: string, to: string): Promise<void> {
  await db.query('update users set password_hash = $3 where id = $1 and password_hash = $2', [userId, from, to]);
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

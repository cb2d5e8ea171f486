/**
 * Reads, adds and deletes stored users.
 * Guarantee: every change is in one transaction with its event, when the caller passes a transaction's connection.
 */

import { ensureOwnerRemains } from '../access/members.ts';
import { type AppendedEvent, appendEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { nameKey } from '../fields/fields.ts';
import { dropUnsentMails } from '../mail/outbox.ts';

export type UserState = 'active' | 'inactive' | 'locked' | 'initial';

export interface User {
  id: string;
  orgId: string;
  kind: 'human' | 'machine';
  state: UserState;
  userName: string;
  givenName: string | null;
  familyName: string | null;
  nickName: string | null;
  displayName: string | null;
  preferredLanguage: string | null;
  /** Index into GENDERS. */
  gender: number;
  email: string | null;
  emailVerified: boolean;
  phone: string | null;
  phoneVerified: boolean;
  hasPassword: boolean;
  passwordChangeRequired: boolean;
  machineName: string | null;
  machineDescription: string | null;
  /** Index into ACCESS_TOKEN_TYPES. */
  accessTokenType: number;
  /** Whether a machine user has a client secret. */
  hasSecret: boolean;
  sequence: string;
  createdAt: Date;
  changedAt: Date;
  /** Primary domain of the user's organization. */
  domain: string;
}

/** Columns of `users u join organizations o` in the shape of `User`. */
export const USER_COLUMNS = `u.id, u.org_id as "orgId", u.kind, u.state, u.user_name as "userName",
  u.given_name as "givenName", u.family_name as "familyName", u.nick_name as "nickName",
  u.display_name as "displayName", u.preferred_language as "preferredLanguage", u.gender,
  u.email, u.email_verified as "emailVerified", u.phone, u.phone_verified as "phoneVerified",
  u.password_hash is not null as "hasPassword", u.password_change_required as "passwordChangeRequired", u.machine_name as "machineName",
  u.machine_description as "machineDescription", u.access_token_type as "accessTokenType",
  u.secret_hash is not null as "hasSecret", u.sequence, u.created_at as "createdAt", u.changed_at as "changedAt",
  o.primary_domain as domain`;

export type UserLock = 'for update' | 'for key share';

/** One user; with `lock`, locked until the transaction ends. */
export async function findUser(db: Db, id: string, lock?: UserLock): Promise<User | undefined> {
  const { rows } = await db.query<User>(
    `select ${USER_COLUMNS} from users u join organizations o on o.id = u.org_id where u.id = $1
     ${lock ? `${lock} of u` : ''}`,
    [id],
  );
  return rows[0];
}

export interface NewUser {
  id: string;
  orgId: string;
  userName: string;
  human?: {
    givenName: string;
    familyName: string;
    nickName?: string;
    displayName: string;
    preferredLanguage?: string;
    gender?: number;
    email: string;
    emailVerified: boolean;
    phone?: string;
    phoneVerified?: boolean;
    /** Encoded, never plain. */
    passwordHash?: string;
    passwordChangeRequired?: boolean;
  };
  machine?: { name: string; description?: string; accessTokenType?: number };
}

/**
 * Adds an active user, either a human or a machine.
 * @throws ApiError 409 when the id or, in the organization, the name is taken; the transaction is then aborted
 */
export async function insertUser(db: Db, user: NewUser, editor: string): Promise<AppendedEvent> {
  const kind = user.human ? 'human' : 'machine';
  const event = await userEvent(db, user, `user.${kind}.added`, editor);
  const { human: h, machine: m } = user;
  const values = [
    ...[user.id, user.orgId, kind, 'active', user.userName, nameKey(user.userName), event.sequence],
    ...[h?.givenName, h?.familyName, h?.nickName, h?.displayName, h?.preferredLanguage, h?.gender ?? 0],
    ...[h?.email, h && nameKey(h.email), h?.emailVerified ?? false, h?.phone, h?.phoneVerified ?? false],
    ...[h?.passwordHash, h?.passwordHash ? event.createdAt : undefined, h?.passwordChangeRequired ?? false],
    ...[m?.name, m?.description, m?.accessTokenType ?? 0],
  ];
  try {
    await db.query(INSERT, values);
  } catch (error) {
    throw nameClash(error);
  }
  return event;
}

const INSERT = `insert into users (
    id, org_id, kind, state, user_name, user_name_key, sequence,
    given_name, family_name, nick_name, display_name, preferred_language, gender,
    email, email_key, email_verified, phone, phone_verified,
    password_hash, password_changed_at, password_change_required,
    machine_name, machine_description, access_token_type)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`;

/** Turns a unique violation of users into the 409; returns any other error unchanged. */
export function nameClash(error: unknown): unknown {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (code !== '23505') return error;
  if (constraint === 'users_pkey') return new ApiError('ALREADY_EXISTS', 'USER-ID-TAKEN', 'The user id is taken.');
  if (constraint !== 'users_name') return error;
  return new ApiError('ALREADY_EXISTS', 'USER-NAME-TAKEN', 'The user name is taken in the organization.');
}

/**
 * Deletes a user, whose row is locked, with their tokens, sessions, codes and unsent mails. Events remain. To avoid
 * deadlocks, it locks imports before the table of members, from which each deletion of a user deletes.
 * @throws ApiError 400 MEMBER-LAST-OWNER
 */
export async function deleteUser(db: Db, user: { id: string; orgId: string }, editor: string): Promise<AppendedEvent> {
  await dropUnsentMails(db, user.id);
  await ensureOwnerRemains(db, user.id);
  await db.query('delete from users where id = $1', [user.id]);
  return userEvent(db, user, 'user.removed', editor);
}

function userEvent(db: Db, user: { id: string; orgId: string }, type: string, editor: string): Promise<AppendedEvent> {
  return appendEvent(db, { aggregateType: 'user', aggregateId: user.id, resourceOwner: user.orgId, type, editor });
}

/** The error that an IAM_OWNER gets for a user who does not exist. */
export function userNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'USER-NOT-FOUND', 'The user does not exist.');
}

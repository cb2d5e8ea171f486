/**
 * What a code in a mail is good for: confirming the address, and setting the first password. Also the password change.
 *
 * Guarantee: a code that is wrong, expired, used or dead, and a user that is not there, are one and the same 400. A
 * change, its event and the end of its code are one transaction. If we die before it, one try of the code is spent.
 */
import { appendEvent, type Details, details } from '../db/events.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { ApiError, invalidArgument } from '../errors.ts';
import { endCodes, tryCode, useCode } from '../mail/codes.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Secrets } from '../secrets.ts';
import { findUser, type User } from './store.ts';

export interface CodeHolder {
  userId: string;
  /** As it was typed or came with the link. */
  code: string;
  /** User id of the caller; the user itself when nobody is logged in. */
  editor: string;
}

export interface NewPassword {
  /** 1 to 200 code points, plain. */
  password: string;
  changeRequired: boolean;
}

/**
 * Marks the address verified. A user without a password stays INITIAL: the code of an initialisation mail confirms the
 * address once and stays good for what it is for, the password.
 * @throws ApiError 400 CODE-INVALID
 */
export async function verifyEmail(deps: { pool: Pool; secrets: Secrets }, holder: CodeHolder): Promise<Details> {
  const { userId, editor } = holder;
  const code = await tryCode(
    { db: deps.pool, secrets: deps.secrets },
    { userId, entered: holder.code, purposes: ['verify_email', 'initialise'] },
  );
  if (!code) throw codeInvalid();
  return transaction(deps.pool, async (db) => {
    const user = await lockHuman(db, userId, codeInvalid);
    const good = code.purpose === 'verify_email' ? await useCode(db, code) : !user.emailVerified;
    if (!good) throw codeInvalid();
    return change(db, user, { type: 'user.human.email.verified', editor }, 'email_verified = true', []);
  });
}

/**
 * Sets the first password with the code of an initialisation mail: the address is verified, the user active.
 * @throws ApiError 400 CODE-INVALID
 */
export async function initialise(
  deps: { pool: Pool; secrets: Secrets; hasher: Hasher },
  holder: CodeHolder,
  { password, changeRequired }: NewPassword,
): Promise<Details> {
  const { userId, editor } = holder;
  const code = await tryCode(
    { db: deps.pool, secrets: deps.secrets },
    { userId, entered: holder.code, purposes: ['initialise'] },
  );
  if (!code) throw codeInvalid();
  const hash = await deps.hasher.hash(password);
  return transaction(deps.pool, async (db) => {
    const user = await lockHuman(db, userId, codeInvalid);
    if (!(await useCode(db, code))) throw codeInvalid();
    await endCodes(db, userId, 'initialise');
    return change(db, user, { type: 'user.human.initialised', editor }, `${NEW_HASH}, email_verified = true`, [
      hash,
      changeRequired,
    ]);
  });
}

/**
 * Sets the password of a human, checking the current one when it is given.
 * A code of an initialisation mail that is still open ends, as it could set yet another password.
 * @throws ApiError 400 PASSWORD-CURRENT, PASSWORD-NOT-HUMAN
 */
export async function setPassword(
  deps: { pool: Pool; hasher: Hasher },
  by: { userId: string; editor: string; currentPassword?: string | undefined },
  { password, changeRequired }: NewPassword,
): Promise<Details> {
  const { userId, editor, currentPassword } = by;
  const checked = currentPassword === undefined ? undefined : await checkCurrent(deps, userId, currentPassword);
  const hash = await deps.hasher.hash(password);
  return transaction(deps.pool, async (db) => {
    const user = await lockHuman(db, userId, notHuman);
    if (checked !== undefined && checked !== (await hashOf(db, userId))) throw wrongPassword();
    await endCodes(db, userId, 'initialise');
    return change(db, user, { type: 'user.human.password.changed', editor }, NEW_HASH, [hash, changeRequired]);
  });
}

/** The hash that the current password was found to make. */
async function checkCurrent(deps: { pool: Pool; hasher: Hasher }, userId: string, plain: string): Promise<string> {
  const hash = await hashOf(deps.pool, userId);
  if (!hash || !(await deps.hasher.verify(hash, plain)).ok) throw wrongPassword();
  return hash;
}

async function hashOf(db: Db, userId: string): Promise<string | null> {
  const { rows } = await db.query<{ password_hash: string | null }>('select password_hash from users where id = $1', [
    userId,
  ]);
  return rows[0]?.password_hash ?? null;
}

async function lockHuman(db: Db, userId: string, missing: () => ApiError): Promise<User> {
  const user = await findUser(db, userId, 'for update');
  if (user?.kind !== 'human') throw missing();
  return user;
}

const NEW_HASH = `password_hash = $4, password_change_required = $5, password_changed_at = $3,
  state = case when state = 'initial' then 'active' else state end`;

/** @param assignments of the users row, with values from `$4` on */
async function change(
  db: Db,
  user: User,
  event: { type: string; editor: string },
  assignments: string,
  values: unknown[],
): Promise<Details> {
  const { sequence, createdAt } = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    ...event,
  });
  const text = `update users set sequence = $2, changed_at = $3, ${assignments} where id = $1`;
  await db.query(text, [user.id, sequence, createdAt, ...values]);
  return details({ sequence, changedAt: createdAt, resourceOwner: user.orgId });
}

function codeInvalid(): ApiError {
  return invalidArgument(CODE_INVALID, 'The code is wrong, used or expired.');
}

/** Id of the one answer to every code that is not good. */
export const CODE_INVALID = 'CODE-INVALID';

function wrongPassword(): ApiError {
  return invalidArgument('PASSWORD-CURRENT', 'The current password is wrong.');
}

function notHuman(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'PASSWORD-NOT-HUMAN', 'Only a human user has a password.');
}

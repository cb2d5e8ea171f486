/**
 * Sets a password: by users with their current one, or by a manager; and revokes what each way must revoke.
 *
 * Guarantee: the new password, its event and the revocation of every code that could set another one are one
 * transaction. A reset by a code or by a manager revokes the user's logins, as somebody else may know the old password;
 * users who change it with the current one stay logged in, unless they ask to end their logins.
 */
import { passwordAge } from '../../contract/password-rules.ts';
import { requireGoodPassword } from '../../directory/policies.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { rememberSlowHash } from '../../directory/users/slow-hashes.ts';
import { findUser, type User } from '../../directory/users/store.ts';
import { PASSWORD_CODES, revokeCodes, revokePending, SIGN_IN_CODES } from '../../messages/mail/codes.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { AppendedEvent, Details } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import type { ApiError } from '../../platform/errors.ts';
import { badFields } from '../../platform/http/parse.ts';
import { verifyOwnPassword } from '../login/check.ts';
import type { LoginDeps, Origin } from '../login/origin.ts';
import { wrongPassword } from '../login/owner-proof.ts';
import { findLogin, type Login } from '../login/store.ts';
import { changedAnswer, changeUser, requireHuman } from './change.ts';

export interface NewPassword {
  /** 1 to 200 code points, plain. */
  password: string;
  changeRequired: boolean;
  /** Path of the password in the request, for errors; the default is `newPassword.password`. */
  field?: string;
  /** Names and addresses that the same request gives the user, which the password must not be either. */
  names?: readonly string[];
}

/** A password hashed elsewhere; see `hashProblem`. */
export interface NewHash {
  hash: string;
  changeRequired: boolean;
}

/** Writes the prepared password to the user, whose row is locked. */
export type PasswordWriter = (db: Db, user: User) => Promise<AppendedEvent>;

/** The user's current password as they typed it, and where the call comes from. */
export type CurrentPassword = Origin & { password: string };

export interface PasswordChange {
  userId: string;
  /** User id of the caller. */
  editor: string;
  /** Needed where users change their own. */
  current?: CurrentPassword | undefined;
  /** Users who change their own password stay logged in unless they ask for this. */
  endSessions?: boolean;
}

/**
 * Sets the password of a human: the caller's own with the current one, which counts as a login attempt, or another's.
 * @param by.lock locks the user's row; throws if the caller has lost access to them while we hashed
 * @throws ApiError 400 PASSWORD-POLICY, PASSWORD-CURRENT, PASSWORD-INVALID (the same one where a change is due),
 *   PASSWORD-NOT-HUMAN
 */
export async function setPassword(
  deps: LoginDeps,
  by: PasswordChange & { lock: (db: Db) => Promise<User> },
  password: NewPassword,
): Promise<Details> {
  const write = await preparePassword(deps, by, password);
  return transaction(deps.pool, async (db) => {
    const user = await by.lock(db);
    return changedAnswer(user, { event: await write(db, user) }).details;
  });
}

/**
 * The slow part of `setPassword`: checks and hashes.
 * @throws ApiError 400 PASSWORD-POLICY, PASSWORD-CURRENT, PASSWORD-INVALID; the writer throws PASSWORD-CURRENT,
 *   PASSWORD-NOT-HUMAN
 */
export async function preparePassword(
  deps: LoginDeps,
  { userId, editor, current, endSessions }: PasswordChange,
  password: NewPassword | NewHash,
): Promise<PasswordWriter> {
  await requirePolicy(deps.pool, userId, password);
  const checked = current && (await checkCurrent(deps, userId, current));
  const isSame = 'password' in password && current?.password === password.password;
  if (checked && isSame && isChangeDue(checked)) throw sameAgain();
  if ('hash' in password) await rememberSlowHash(deps.pool, password.hash);
  const hash = await hashOf(deps.hasher, password);
  return async (db, user) => {
    requireHuman(user, 'PASSWORD-NOT-HUMAN');
    if (!checked || endSessions) await revokeLogins(db, userId);
    if (checked && checked.passwordSetAt !== (await findLogin(db, { userId }))?.passwordSetAt) throw wrongPassword();
    const event = { type: 'user.human.password.changed', editor };
    return storePassword(db, user, { hash, changeRequired: password.changeRequired }, event);
  };
}

/**
 * Checks a new password against the policy of the user's organization. Hashes that were made elsewhere are exempt. A
 * user who no longer exists is reported when their row is locked.
 * @throws ApiError 400 PASSWORD-POLICY
 */
export async function requirePolicy(db: Db, userId: string, password: NewPassword | NewHash): Promise<void> {
  const user = 'hash' in password ? undefined : await findUser(db, userId);
  if (!user || 'hash' in password) return;
  const { field = 'newPassword.password', names = [] } = password;
  await requireGoodPassword(db, { ...user, names }, password.password, field);
}

/** The hash to store. */
export async function hashOf(hasher: Hasher, password: NewPassword | NewHash): Promise<string> {
  return 'hash' in password ? password.hash : hasher.hash(password.password);
}

/** The event of a password that was chosen with the code of an initialisation. */
export const FIRST_PASSWORD = 'user.human.initialised';

/** Stores the hash, and tells the address. An INITIAL human becomes active; no other state changes. The user's row is locked. */
export async function storePassword(
  db: Db,
  user: User,
  change: { hash: string; changeRequired: boolean; verifiesEmail?: boolean },
  event: { type: string; editor: string },
): Promise<AppendedEvent> {
  // A verified address needs no mail to verify it.
  const own = change.verifiesEmail ? (['verify_email'] as const) : [];
  await revokeCodes(db, user.id, [...own, ...PASSWORD_CODES, ...SIGN_IN_CODES]);
  // A user sets a new password because of a thief: the address of the thief must not count afterwards.
  await revokePending(db, user.id);
  const changed = await changeUser(
    db,
    user,
    event,
    `password_hash = $4, password_change_required = $5, password_changed_at = $3, rehashed_from = null, email_verified = email_verified or $6,
     state = case when state = 'initial' then 'active' else state end`,
    [change.hash, change.changeRequired, change.verifiesEmail ?? false],
  );
  // The first password, chosen with a code that was just sent to the address, is no news to it.
  if (event.type !== FIRST_PASSWORD && user.state !== 'initial') {
    await sendNotice(db, user, 'password_changed', event.editor);
  }
  return changed;
}

/** The login as it was before the check. @throws ApiError 400 PASSWORD-CURRENT, 429 SESSION-FAILURES */
async function checkCurrent(deps: LoginDeps, userId: string, { password, ...origin }: CurrentPassword): Promise<Login> {
  const login = await findLogin(deps.pool, { userId });
  if (!(await verifyOwnPassword(deps, userId, password, origin)) || !login) throw wrongPassword();
  return login;
}

function isChangeDue(login: Login): boolean {
  return login.changeRequired || passwordAge(login, login.passwordAgeDays).isExpired;
}

function sameAgain(): ApiError {
  const description = 'must differ from the current one';
  return badFields('PASSWORD-INVALID', [{ field: 'newPassword.password', description }]);
}

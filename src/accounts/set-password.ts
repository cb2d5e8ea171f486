/**
 * Setting a password: by the user with the current one, by somebody who manages the user, and what each way ends.
 *
 * Guarantee: with the new password, its event and the end of every code that could set another one are one transaction.
 * Whoever sets it anew, by a code or as a manager, ends the user's logins, as somebody else may know the old one; users
 * who change it themselves stay logged in. If we die before the commit the old one holds.
 */

import { clearFailures, revokeLogins } from '../access/revocation.ts';
import type { AppendedEvent, Details } from '../db/events.ts';
import { type Db, transaction } from '../db/pool.ts';
import { type ApiError, invalidArgument } from '../errors.ts';
import { badFields } from '../http/parse-body.ts';
import { type LoginDeps, verifyOwnPassword } from '../identity/login/check.ts';
import { findLogin, type Login } from '../identity/login/store.ts';
import { revokeCodes } from '../mail/codes.ts';
import type { Hasher } from '../passwords/hasher.ts';
import { passwordAge } from '../policies/age.ts';
import type { User } from '../users/store.ts';
import { changedAnswer, changeUser, requireHuman } from './credentials.ts';

export interface NewPassword {
  /** 1 to 200 code points, plain. */
  password: string;
  changeRequired: boolean;
}

/** Purposes of the codes that set a password. */
export const PASSWORD_CODES = ['initialise', 'reset_password'] as const;

/** A password that was made in another way; see `hashProblem`. */
export interface NewHash {
  hash: string;
  changeRequired: boolean;
}

/** Writes a password that is ready into the user, whose row is locked. */
export type PasswordWriter = (db: Db, user: User) => Promise<AppendedEvent>;

/**
 * Sets the password of a human: one's own with the current one, which counts as a login does, or somebody else's.
 * @param by.lock locks the user, who may have become somebody out of reach while we hashed; throws to refuse
 * @throws ApiError 400 PASSWORD-CURRENT, PASSWORD-INVALID (the same one where another is due), PASSWORD-NOT-HUMAN
 */
export async function setPassword(
  deps: LoginDeps,
  by: { userId: string; editor: string; currentPassword?: string | undefined; lock: (db: Db) => Promise<User> },
  password: NewPassword,
): Promise<Details> {
  const write = await preparePassword(deps, by, password);
  return transaction(deps.pool, async (db) => {
    const user = await by.lock(db);
    return changedAnswer(user, { event: await write(db, user) }).details;
  });
}

/**
 * The part of `setPassword` that takes long: checks and hashes.
 * @throws ApiError 400 PASSWORD-CURRENT, PASSWORD-INVALID; the writer PASSWORD-CURRENT, PASSWORD-NOT-HUMAN
 */
export async function preparePassword(
  deps: LoginDeps,
  { userId, editor, currentPassword }: { userId: string; editor: string; currentPassword?: string | undefined },
  password: NewPassword | NewHash,
): Promise<PasswordWriter> {
  const checked = currentPassword === undefined ? undefined : await checkCurrent(deps, userId, currentPassword);
  const isSame = 'password' in password && currentPassword === password.password;
  if (checked && isSame && isChangeDue(checked)) throw sameAgain();
  const hash = await hashOf(deps.hasher, password);
  return async (db, user) => {
    requireHuman(user, 'PASSWORD');
    if (!checked) await revokeLogins(db, userId);
    else if (checked.passwordSetAt !== (await findLogin(db, { userId }))?.passwordSetAt) throw wrongPassword();
    const event = { type: 'user.human.password.changed', editor };
    return storePassword(db, user, { hash, changeRequired: password.changeRequired }, event);
  };
}

export async function hashOf(hasher: Hasher, password: NewPassword | NewHash): Promise<string> {
  return 'hash' in password ? password.hash : hasher.hash(password.password);
}

/** A human without a password becomes active with it; no other state changes. The user's row is locked. */
export async function storePassword(
  db: Db,
  user: User,
  change: { hash: string; changeRequired: boolean; verifiesEmail?: boolean },
  event: { type: string; editor: string },
): Promise<AppendedEvent> {
  await revokeCodes(db, user.id, PASSWORD_CODES);
  await clearFailures(db, user.id);
  return changeUser(
    db,
    user,
    event,
    `password_hash = $4, password_change_required = $5, password_changed_at = $3, rehashed_from = null, email_verified = email_verified or $6,
     state = case when state = 'initial' then 'active' else state end`,
    [change.hash, change.changeRequired, change.verifiesEmail ?? false],
  );
}

/** As it was before the check. @throws ApiError 400 PASSWORD-CURRENT */
async function checkCurrent(deps: LoginDeps, userId: string, plain: string): Promise<Login> {
  const login = await findLogin(deps.pool, { userId });
  if (!(await verifyOwnPassword(deps, userId, plain)) || !login) throw wrongPassword();
  return login;
}

function isChangeDue(login: Login): boolean {
  return login.changeRequired || passwordAge(login, login.passwordAgeDays).isExpired;
}

function wrongPassword(): ApiError {
  return invalidArgument('PASSWORD-CURRENT', 'The current password is wrong.');
}

function sameAgain(): ApiError {
  const description = 'must differ from the current one';
  return badFields('PASSWORD-INVALID', [{ field: 'newPassword.password', description }]);
}

/**
 * Sets the new password of a user in the middle of a login.
 *
 * Guarantee: it replaces exactly the password that the user proved, only while the user is active, and differs from it.
 * The user's other sessions continue.
 *
 * On crash: before the commit, the old password stays valid.
 */
import { transaction } from '../../db/pool.ts';
import { type LoginDeps, type PasswordProof, wrongCredentials } from '../../identity/login/check.ts';
import { findLogin } from '../../identity/login/store.ts';
import type { Problem } from '../../pages/parts.ts';
import { newPasswordProblems, passwordRulesOf, passwordSentence } from '../../policies/new-password.ts';
import { findUser } from '../../users/store.ts';
import { storePassword } from '../set-password.ts';

/** Whether it is the user's current password. */
export async function isSamePassword(deps: LoginDeps, userId: string, password: string): Promise<boolean> {
  const hash = (await findLogin(deps.pool, { userId }))?.passwordHash;
  return Boolean(hash) && (await deps.hasher.verify(hash as string, password)).ok;
}

/** The rules for the user's new password, for people. */
export async function ownPasswordRules({ pool }: LoginDeps, userId: string): Promise<string> {
  return passwordRulesOf(pool, (await findUser(pool, userId))?.orgId ?? null);
}

/** The rules that the password breaks; undefined when there are none. A deleted user is refused later. */
export async function ownPasswordProblem(
  { pool }: LoginDeps,
  userId: string,
  password: string,
): Promise<Problem | undefined> {
  const user = await findUser(pool, userId);
  const problems = user ? await newPasswordProblems(pool, user, password) : [];
  return problems.length > 0 ? { message: passwordSentence(problems) } : undefined;
}

/**
 * Sets the password of a user who has proved the current one.
 * @returns the proof of the new one
 * @throws ApiError 400 SESSION-CREDENTIALS when the user or the password has changed since
 */
export async function replaceOwnPassword(
  { pool, hasher }: LoginDeps,
  proof: PasswordProof,
  password: string,
): Promise<PasswordProof> {
  const hash = await hasher.hash(password);
  return transaction(pool, async (db) => {
    const user = await findUser(db, proof.id, 'for update');
    const login = await findLogin(db, { userId: proof.id });
    if (user?.state !== 'active' || login?.passwordSetAt !== proof.passwordSetAt) throw wrongCredentials();
    const event = { type: 'user.human.password.changed', editor: user.id };
    await storePassword(db, user, { hash, changeRequired: false }, event);
    return { id: user.id, passwordSetAt: (await findLogin(db, { userId: user.id }))?.passwordSetAt ?? null };
  });
}

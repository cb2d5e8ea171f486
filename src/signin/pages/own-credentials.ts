/**
 * Sets up the second factor of a user in the middle of a login, where the policy of the organization requires one, or
 * sets the user's new password.
 *
 * Guarantee: no factor is stored before a code has proved that the user's app has the secret. A user who has a factor
 * by then keeps it. A new password replaces exactly the password that the user proved, and differs from it; the user's
 * other sessions continue. Either happens only while the user is active and has the password that they proved.
 */
import type { LengthPolicy } from '../../contract/policies.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { newPasswordProblems, passwordRulesOf } from '../../directory/policies.ts';
import { hasSecondFactor } from '../../directory/users/second-factors.ts';
import { findUser } from '../../directory/users/store.ts';
import { keyOfText, totpAddress } from '../../passwords/totp-secret.ts';
import { transaction } from '../../platform/db/pool.ts';
import type { Problem } from '../../platform/html/forms.ts';
import { storePassword } from '../credentials/password.ts';
import { addTotp, alreadyActive, verifyTotp } from '../factors/totp.ts';
import { type PasswordProof, wrongCredentials } from '../login/check.ts';
import type { LoginDeps } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import type { FactorKey } from './factor-forms.ts';
import { passwordProblem } from './forms.ts';
import type { LoginProof } from './interaction.ts';

/** What the app of the user needs for this secret. */
export async function factorKey(
  { pool }: LoginDeps,
  { id, loginName }: LoginProof,
  secret: string,
): Promise<FactorKey> {
  const user = await findUser(pool, id);
  if (!user) throw wrongCredentials();
  const issuer = (await requireOrg(pool, user.orgId)).name;
  return { secret, address: totpAddress(keyOfText(secret), { issuer, account: loginName }) };
}

/**
 * Stores the factor.
 * @throws ApiError 400 TOTP-CODE, TOTP-ACTIVE, SESSION-CREDENTIALS when the user or the password has changed since
 */
export async function setUpFactor(
  { pool, secrets, config }: LoginDeps,
  proof: LoginProof,
  secret: string,
  code: string,
): Promise<void> {
  await transaction(pool, async (db) => {
    const user = await findUser(db, proof.id, 'for update');
    const login = await findLogin(db, { userId: proof.id });
    if (!user || login?.state !== 'active' || login.passwordSetAt !== proof.passwordSetAt) throw wrongCredentials();
    if (await hasSecondFactor(db, user.id)) throw alreadyActive();
    await addTotp({ db, secrets }, user, user.id, { secret });
    await verifyTotp({ db, secrets, config }, user, code, user.id);
  });
}

/** Whether the password is the user's current one. */
export async function isSamePassword(deps: LoginDeps, userId: string, password: string): Promise<boolean> {
  const hash = (await findLogin(deps.pool, { userId }))?.passwordHash;
  return Boolean(hash) && (await deps.hasher.verify(hash as string, password)).ok;
}

/** The rules for the user's new password, for people. */
export async function ownPasswordRules({ pool }: LoginDeps, userId: string): Promise<LengthPolicy> {
  return passwordRulesOf(pool, (await findUser(pool, userId))?.orgId ?? null);
}

/** The rules that the password breaks; undefined when there are none. A deleted user is refused later. */
export async function ownPasswordProblem(
  { pool }: LoginDeps,
  userId: string,
  password: string,
): Promise<Problem | undefined> {
  const user = await findUser(pool, userId);
  const broken = user ? await newPasswordProblems(pool, user, password) : [];
  return broken.length > 0 ? passwordProblem(broken) : undefined;
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
    if (!user || login?.state !== 'active' || login.passwordSetAt !== proof.passwordSetAt) throw wrongCredentials();
    const event = { type: 'user.human.password.changed', editor: user.id };
    await storePassword(db, user, { hash, changeRequired: false }, event);
    return { id: user.id, passwordSetAt: (await findLogin(db, { userId: user.id }))?.passwordSetAt ?? null };
  });
}

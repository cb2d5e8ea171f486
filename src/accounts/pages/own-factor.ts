/**
 * Sets up the second factor of a user in the middle of a login, where the policy of the organization requires one.
 *
 * Guarantee: nothing is stored before a code has proved that the user's app has the secret, and only while the user is
 * active and has the password that they proved. A user who has a factor by then keeps it.
 *
 * On crash: before the commit, the user has no factor and sets one up at the next login.
 */
import { transaction } from '../../db/pool.ts';
import { type LoginDeps, wrongCredentials } from '../../identity/login/check.ts';
import { findLogin } from '../../identity/login/store.ts';
import { addTotp, verifyTotp } from '../../identity/totp/enrol.ts';
import { totpAddress } from '../../identity/totp/secret.ts';
import { requireOrg } from '../../orgs/store.ts';
import type { FactorKey } from '../../pages/factor-form.ts';
import { findUser } from '../../users/store.ts';
import type { LoginProof } from './login-proof.ts';

/** What the app of the user needs for this secret. */
export async function factorKey(
  { pool }: LoginDeps,
  { id, loginName }: LoginProof,
  secret: string,
): Promise<FactorKey> {
  const user = await findUser(pool, id);
  if (!user) throw wrongCredentials();
  const issuer = (await requireOrg(pool, user.orgId)).name;
  return { secret, address: totpAddress(secret, { issuer, account: loginName }) };
}

/** @throws ApiError 400 TOTP-CODE, TOTP-ACTIVE, SESSION-CREDENTIALS when the user or the password has changed since */
export async function setUpFactor(
  { pool, secrets, config }: LoginDeps,
  proof: LoginProof,
  secret: string,
  code: string,
): Promise<void> {
  await transaction(pool, async (db) => {
    const user = await findUser(db, proof.id, 'for update');
    const login = await findLogin(db, { userId: proof.id });
    if (user?.state !== 'active' || login?.passwordSetAt !== proof.passwordSetAt) throw wrongCredentials();
    await addTotp({ db, secrets }, user, user.id, secret);
    await verifyTotp({ db, secrets, config }, user, code, user.id);
  });
}

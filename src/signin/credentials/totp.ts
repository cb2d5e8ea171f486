/**
 * Routes for users' authenticator apps.
 *
 * Managers of a user may enrol a factor for them and then know the secret. This gives managers no new power, as they
 * can also set the user's password and remove the factor. Nobody can do so for a user with more rights than their own.
 * People who add or remove their own factor prove that the account is theirs (login/owner-proof.ts).
 */

import { Router } from 'express';
import { totpOperations } from '../../contract/credentials.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { accessForChange, loginNames, type Reached, type User } from '../../directory/users/store.ts';
import { totpAddress } from '../../passwords/totp-secret.ts';
import { changedAnswer } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { addTotp, removeApps, verifyTotp } from '../factors/totp.ts';
import { type LoginDeps, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';

/** Routes of authenticator apps. */
export function totpRoutes(deps: LoginDeps): Router {
  const { pool, secrets, config } = deps;
  const router = Router();
  const user = changeableUser(pool);
  serve(router, totpOperations.addTotp, user, async (asked) => {
    await proveOwner(deps, asked);
    return changeFactors(pool, asked, async (db, user, editor) => {
      const { key, id, event } = await addTotp({ db, secrets }, user, editor, { name: asked.body.name });
      const issuer = (await requireOrg(db, user.orgId)).name;
      const [account = user.userName] = loginNames(user);
      const uri = totpAddress(key, { issuer, account });
      return { ...changedAnswer(event, user.orgId), totpId: id, uri, secret: key.secret };
    });
  });
  serve(router, totpOperations.verifyTotp, user, async ({ body: { code, endSessions }, ...asked }) =>
    changeFactors(pool, asked, async (db, user, editor) => {
      const event = await verifyTotp({ db, secrets, config }, user, code, editor);
      if (endSessions) await revokeLogins(db, user.id);
      return changedAnswer(event, user.orgId);
    }),
  );
  serve(router, totpOperations.removeTotp, user, (asked) => remove(deps, asked));
  serve(router, totpOperations.removeTotpApp, user, (asked) => remove(deps, asked, asked.params.totpId));
  return router;
}

async function remove(deps: LoginDeps, asked: Proving & { body: { endSessions: boolean } }, totpId?: string) {
  await proveOwner(deps, asked);
  return changeFactors(deps.pool, asked, async (db, user, editor) => {
    const event = await removeApps({ ...deps, db }, user, { editor, id: totpId });
    if (asked.body.endSessions) await revokeLogins(db, user.id);
    return changedAnswer(event, user.orgId);
  });
}

interface OfUser extends Asked {
  target: Reached;
}

/** Runs a change of the user with their row locked, if the caller still may. */
export function changeFactors<T>(
  pool: Pool,
  { caller, operation, target }: OfUser,
  change: (db: Db, user: User, editor: string) => Promise<T>,
): Promise<T> {
  return transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    return change(db, user, caller.userId);
  });
}

interface Proving extends OfUser {
  body: { currentPassword?: string | undefined; mailedCode?: string | undefined };
  countTry(): Promise<void>;
}

/** Users prove that a factor is their own. @throws ApiError as `requireOwnerProof` */
export async function proveOwner(
  deps: LoginDeps,
  { caller, target, body, countTry, req, res }: Proving,
): Promise<void> {
  if (body.currentPassword !== undefined) await countTry();
  await requireOwnerProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword, body.mailedCode);
}

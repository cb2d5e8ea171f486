/**
 * Routes for users' second factors.
 *
 * Managers of a user may enrol a factor for them and then know the secret. This gives managers no new power, as they
 * can also set the user's password and remove the factor. Nobody can do so for a user with more rights than their own.
 * People who add or remove their own factor prove that the account is theirs (login/owner-proof.ts).
 */
import { type Request, type Response, Router } from 'express';
import { removeTotpBody, verifyTotpBody } from '../../contract/credentials.ts';
import { callerOf, type OperationId } from '../../contract/permissions.ts';
import { requireOrg } from '../../directory/organizations.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { accessForChange, loginNames, type User } from '../../directory/users/store.ts';
import { totpAddress } from '../../passwords/totp-secret.ts';
import { type AppendedEvent, type Details, details } from '../../platform/db/events.ts';
import { transaction } from '../../platform/db/pool.ts';
import { countTry } from '../../platform/http/limits.ts';
import { parseBody, pathId, readJson } from '../../platform/http/request-body.ts';
import { addTotp, dropTotp, verifyTotp } from '../factors/totp.ts';
import { type LoginDeps, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';

/** Routes of second factors. */
export function totpRoutes(deps: LoginDeps): Router {
  const router = Router();
  router.post('/v2beta/users/:userId/totp', (req, res) => add(deps, req, res));
  router.post('/v2beta/users/:userId/totp/verify', (req, res) => verify(deps, req, res));
  router.delete('/v2beta/users/:userId/totp', (req, res) => remove(deps, req, res));
  return router;
}

async function add(deps: LoginDeps, req: Request, res: Response): Promise<void> {
  const { pool, secrets } = deps;
  const { caller, userId } = await proven(deps, 'addTotp', req, res);
  const { user, added, issuer } = await transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, 'addTotp', userId, 'for update');
    const added = await addTotp({ db, secrets }, user, caller.userId);
    return { user, added, issuer: (await requireOrg(db, user.orgId)).name };
  });
  const { secret, event } = added;
  const [account = user.userName] = loginNames(user);
  res.json({ details: totpDetails(user, event), uri: totpAddress(secret, { issuer, account }), secret });
}

async function verify({ pool, secrets, config }: LoginDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  await accessForChange(pool, caller, 'verifyTotp', userId);
  const { code, endSessions } = parseBody(verifyTotpBody, await readJson(req, res), 'TOTP-VERIFY');
  const { user, event } = await transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, 'verifyTotp', userId, 'for update');
    const event = await verifyTotp({ db, secrets, config }, user, code, caller.userId);
    if (endSessions) await revokeLogins(db, userId);
    return { user, event };
  });
  res.json({ details: totpDetails(user, event) });
}

async function remove(deps: LoginDeps, req: Request, res: Response): Promise<void> {
  const { caller, userId, endSessions } = await proven(deps, 'removeTotp', req, res);
  const { user, event } = await transaction(deps.pool, async (db) => {
    const { user } = await accessForChange(db, caller, 'removeTotp', userId, 'for update');
    const event = await dropTotp(db, user, caller.userId);
    if (endSessions) await revokeLogins(db, userId);
    return { user, event };
  });
  res.json({ details: totpDetails(user, event) });
}

/** The caller and the user of the path, whose own factor needs a proof. @throws ApiError as `requireOwnerProof` */
async function proven(deps: LoginDeps, operation: OperationId, req: Request, res: Response) {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  const { user } = await accessForChange(deps.pool, caller, operation, userId);
  const { currentPassword, endSessions } = parseBody(removeTotpBody, await readJson(req, res), 'TOTP-INVALID');
  if (currentPassword !== undefined) await countTry(req, res);
  await requireOwnerProof(deps, caller, user, originOfCall(req, res), currentPassword);
  return { caller, userId, endSessions };
}

function totpDetails(user: User, event: AppendedEvent): Details {
  return details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId });
}

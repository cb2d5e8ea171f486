/**
 * Routes for the logins of a user, who sees and ends their own; a manager does so for the users that they manage.
 *
 * Guarantee: people who end their own logins prove that the account is theirs (login/owner-proof.ts), so that the holder
 * of a stolen token does not sign its owner out.
 */
import { type Request, type Response, Router } from 'express';
import type { ZodType } from 'zod';
import { type Caller, callerOf, covers, isSelf, permissionDenied, requireReach } from '../../access/caller.ts';
import { rightsOf } from '../../access/members.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { revokeLogins } from '../../access/revocation.ts';
import type { Config } from '../../config.ts';
import { appendEvent, details } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { ApiError, invalidArgument } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { countTry } from '../../http/limits/rate-limit.ts';
import { parseBody } from '../../http/parse-body.ts';
import { findUser, type User, userNotFound } from '../../users/store.ts';
import type { LoginDeps } from '../login/deps.ts';
import { originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';
import { endLoginBody, endLoginsBody } from './schema.ts';
import { endLogin, endOtherLogins, isCurrent, type Login, type LoginType, listLogins } from './store.ts';

export type LoginsDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> };

export function loginsRoutes(deps: LoginsDeps): Router {
  const { pool, config } = deps;
  const router = Router();
  router.get('/v2beta/users/:userId/logins', async (req, res) => {
    const caller = callerOf(res);
    const user = await reachable(pool, caller, 'listLogins', await findUser(pool, pathId(req, 'userId')));
    const logins = await listLogins(pool, user.id, config.SESSION_TTL_DAYS);
    res.json({ result: logins.map((login) => loginView(login, isCurrent(login, caller.login))) });
  });
  router.delete('/v2beta/users/:userId/logins', async (req, res) => {
    const { keepCurrent } = await proven(deps, 'endLogins', endLoginsBody, req, res);
    await end(pool, 'endLogins', req, res, (db, user) => endAll(db, user, callerOf(res), keepCurrent));
  });
  router.delete('/v2beta/users/:userId/logins/:loginId', async (req, res) => {
    await proven(deps, 'endLogin', endLoginBody, req, res);
    await end(pool, 'endLogin', req, res, (db, user) => endLogin(db, user.id, pathId(req, 'loginId')));
  });
  return router;
}

/** The body of the request, after the proof. @throws ApiError as `requireOwnerProof` */
async function proven<T extends { currentPassword?: string | undefined }>(
  deps: LoginsDeps,
  operation: OperationId,
  schema: ZodType<T>,
  req: Request,
  res: Response,
): Promise<T> {
  const caller = callerOf(res);
  const user = await reachable(deps.pool, caller, operation, await findUser(deps.pool, pathId(req, 'userId')));
  const body = parseBody(schema, await readJson(req, res), 'LOGIN-INVALID');
  if (body.currentPassword !== undefined) await countTry(req, res);
  await requireOwnerProof(deps, caller, user, originOfCall(req, res), body.currentPassword);
  return body;
}

async function endAll(db: Db, user: User, caller: Caller, keepCurrent: boolean): Promise<'all' | 'others'> {
  if (!keepCurrent) {
    await revokeLogins(db, user.id);
    return 'all';
  }
  if (!caller.login || caller.userId !== user.id) {
    const description = 'must be false unless users call this for themselves with the token of an application';
    throw invalidArgument('LOGIN-INVALID', 'The call has no login of the user.', [
      { field: 'keepCurrent', description },
    ]);
  }
  await endOtherLogins(db, user.id, caller.login);
  return 'others';
}

async function end(
  pool: Pool,
  operation: OperationId,
  req: Request,
  res: Response,
  work: (db: Db, user: User) => Promise<LoginType | 'all' | 'others' | undefined>,
): Promise<void> {
  const caller = callerOf(res);
  const { user, event } = await transaction(pool, async (db) => {
    const user = await reachable(db, caller, operation, await findUser(db, pathId(req, 'userId'), 'for update'));
    const ended = await work(db, user);
    if (ended === undefined) throw new ApiError('NOT_FOUND', 'LOGIN-NOT-FOUND', 'The user has no such login.');
    const event = await appendEvent(db, {
      aggregateType: 'user',
      aggregateId: user.id,
      resourceOwner: user.orgId,
      type: 'user.login.ended',
      editor: caller.userId,
      payload: { login: ended },
    });
    return { user, event };
  });
  res.json({ details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }) });
}

/** Nobody sees or ends the logins of a user with more rights than their own. */
async function reachable(db: Db, caller: Caller, operation: OperationId, found: User | undefined): Promise<User> {
  const user = requireReach(caller, operation, found, userNotFound);
  const isAllowed = isSelf(caller, operation, user.id) || covers(caller, await rightsOf(db, user.id));
  if (!isAllowed) throw permissionDenied();
  return user;
}

function loginView(login: Login, isCurrent: boolean): Record<string, unknown> {
  const { type, id, clientId, clientName, address, userAgent, createdAt, lastUsedAt, expiresAt } = login;
  return {
    id,
    type: `LOGIN_TYPE_${type.toUpperCase()}`,
    isCurrent,
    ...(clientId === null ? {} : { clientId }),
    ...(clientName === null ? {} : { clientName }),
    ...(address === null ? {} : { address }),
    ...(userAgent === null ? {} : { userAgent }),
    creationDate: createdAt.toISOString(),
    ...(lastUsedAt === null ? {} : { lastUseDate: lastUsedAt.toISOString() }),
    expirationDate: expiresAt.toISOString(),
  };
}

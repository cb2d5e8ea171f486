/** Routes for the logins of a user, who sees and ends their own; a manager does so for the users that they manage. */
import { type Request, type Response, Router } from 'express';
import { type Caller, callerOf, covers, isSelf, permissionDenied, requireReach } from '../../access/caller.ts';
import { rightsOf } from '../../access/members.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { revokeLogins } from '../../access/revocation.ts';
import type { Config } from '../../config.ts';
import { appendEvent, details } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { findUser, type User, userNotFound } from '../../users/store.ts';
import { endLogin, type Login, type LoginType, listLogins } from './store.ts';

export interface LoginsDeps {
  pool: Pool;
  config: Pick<Config, 'SESSION_TTL_DAYS'>;
}

export function loginsRoutes({ pool, config }: LoginsDeps): Router {
  const router = Router();
  router.get('/v2beta/users/:userId/logins', async (req, res) => {
    const user = await reachable(pool, callerOf(res), 'listLogins', await findUser(pool, pathId(req, 'userId')));
    res.json({ result: (await listLogins(pool, user.id, config.SESSION_TTL_DAYS)).map(loginView) });
  });
  router.delete('/v2beta/users/:userId/logins', (req, res) =>
    end(pool, 'endLogins', req, res, async (db, user) => {
      await revokeLogins(db, user.id);
      return 'all';
    }),
  );
  router.delete('/v2beta/users/:userId/logins/:loginId', (req, res) =>
    end(pool, 'endLogin', req, res, (db, user) => endLogin(db, user.id, pathId(req, 'loginId'))),
  );
  return router;
}

async function end(
  pool: Pool,
  operation: OperationId,
  req: Request,
  res: Response,
  work: (db: Db, user: User) => Promise<LoginType | 'all' | undefined>,
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

function loginView({ type, id, clientId, clientName, createdAt, expiresAt }: Login): Record<string, unknown> {
  return {
    id,
    type: `LOGIN_TYPE_${type.toUpperCase()}`,
    ...(clientId === null ? {} : { clientId }),
    ...(clientName === null ? {} : { clientName }),
    creationDate: createdAt.toISOString(),
    expirationDate: expiresAt.toISOString(),
  };
}

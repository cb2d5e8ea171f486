/** Sessions: a password check that a program makes on behalf of a user who is logging in. */
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { details } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { loggable } from '../../http/errors.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { callerOf, hasAnyRole, ORG_ROLES, permissionDenied, requireReach } from '../caller.ts';
import { pathId } from '../path-id.ts';
import { randomToken } from '../random-token.ts';
import { checkPassword, renewHash, wrongCredentials } from './check-password.ts';
import { newSession } from './schema.ts';
import { addSession, findSession, removeSession, type Session } from './store.ts';

export interface SessionDeps {
  pool: Pool;
  hasher: Hasher;
  logger: Logger;
}

export function sessionRoutes(deps: SessionDeps): Router {
  const router = Router();
  router.post('/v2beta/sessions', (req, res) => create(deps, req, res));
  router.get('/v2beta/sessions/:sessionId', async (req, res) => {
    const session = await reachableSession(deps.pool, req, res);
    res.json({ session: sessionView(session) });
  });
  router.delete('/v2beta/sessions/:sessionId', async (req, res) => {
    const session = await reachableSession(deps.pool, req, res);
    const editor = callerOf(res).userId;
    const event = await transaction(deps.pool, (db) => removeSession(db, session, editor));
    if (!event) throw sessionNotFound();
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: session.orgId }),
    });
  });
  return router;
}

async function create(deps: SessionDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  if (!hasAnyRole(caller)) throw permissionDenied();
  const { checks } = parseBody(newSession, await readJson(req, res), 'SESSION-INVALID');
  const { password } = checks.password;
  const login = await checkPassword(deps, caller, checks.user, password);
  const token = randomToken();
  const session = await transaction(deps.pool, (db) => addSession(db, login, token, caller.userId));
  if (!session) throw wrongCredentials();
  // The login is good whether or not the better hash can be stored now.
  await renewHash(deps, login, password).catch((error: unknown) => {
    deps.logger.warn({ userId: login.id, err: loggable(error) }, 'password not hashed anew');
  });
  res.status(201).json({
    details: details({ sequence: session.sequence, changedAt: session.createdAt, resourceOwner: login.orgId }),
    sessionId: session.id,
    sessionToken: token,
  });
}

async function reachableSession(pool: Pool, req: Request, res: Response): Promise<Session> {
  return requireReach(callerOf(res), await findSession(pool, pathId(req, 'sessionId')), ORG_ROLES, sessionNotFound);
}

function sessionNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'SESSION-NOT-FOUND', 'The session does not exist.');
}

function sessionView(session: Session): Record<string, unknown> {
  const created = session.createdAt.toISOString();
  return {
    id: session.id,
    creationDate: created,
    changeDate: session.changedAt.toISOString(),
    sequence: session.sequence,
    factors: {
      user: {
        verifiedAt: created,
        id: session.userId,
        loginName: session.loginName,
        displayName: session.displayName,
        organizationId: session.orgId,
      },
      password: { verifiedAt: created },
    },
  };
}

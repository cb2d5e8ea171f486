/** Routes for sessions: a program checks the login of a user on their behalf. */
import { type Request, type Response, Router } from 'express';
import { callerOf, namedOrg, orgsFor, requireReach } from '../../access/caller.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { randomToken } from '../../access/random-token.ts';
import { recordFailedSignIn } from '../../audit/sign-ins.ts';
import type { Config } from '../../config.ts';
import { details } from '../../db/events.ts';
import { transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import { publish } from '../../observations.ts';
import {
  type Attempt,
  type CheckedLogin,
  checkLogin,
  MFA_SETUP_REQUIRED,
  type PasswordProof,
  wrongCredentials,
} from '../login/check.ts';
import type { LoginDeps } from '../login/deps.ts';
import { originOfCall } from '../login/origin.ts';
import { type Checks, newSession } from './schema.ts';
import { addSession, findSession, removeSession, type Session } from './store.ts';

export type SessionDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> };

export function sessionRoutes(deps: SessionDeps): Router {
  const router = Router();
  router.post('/v2beta/sessions', (req, res) => create(deps, req, res));
  router.get('/v2beta/sessions/:sessionId', async (req, res) => {
    const session = await reachableSession(deps, 'getSession', req, res);
    res.json({ session: sessionView(session) });
  });
  router.delete('/v2beta/sessions/:sessionId', async (req, res) => {
    const session = await reachableSession(deps, 'deleteSession', req, res);
    const editor = callerOf(res).userId;
    const event = await transaction(deps.pool, (db) => removeSession(db, session, editor));
    if (!event) throw sessionNotFound();
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: session.orgId }),
    });
  });
  return router;
}

/**
 * A user of an organization on which the caller has no role is treated as unknown: the answer, its time and the counts
 * of failures do not tell such a caller whether the password was right. A user who must set a new password still gets a
 * session, and the response says so. With an expired password there is no session: it must be changed first.
 */
async function create(deps: LoginDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const orgIds = orgsFor(caller, 'createSession');
  const { checks, userAgent } = parseBody(newSession, await readJson(req, res), 'SESSION-INVALID');
  const attempt = { user: { ...checks.user, orgIds, orgId: namedOrg(req) }, ...originOfCall(req, res, userAgent?.ip) };
  const login = await checked(deps, attempt, checks);
  if (login.mustChange === 'expired') {
    await recordFailedSignIn(deps.pool, 'password_expired', login, checks.user);
    throw passwordExpired();
  }
  const token = randomToken();
  const session = await addSession(deps.pool, login, token, caller.userId, userAgent?.ip);
  if (!session) throw wrongCredentials();
  publish('signIn', 'succeeded');
  res.status(201).json({
    details: details({ sequence: session.sequence, changedAt: session.createdAt, resourceOwner: login.orgId }),
    sessionId: session.id,
    sessionToken: token,
    ...(login.mustChange ? { passwordChangeRequired: true } : {}),
  });
}

/** The right password of a user who still has to set up a second factor is recorded: a program can only refuse them. */
async function checked(deps: LoginDeps, attempt: Attempt, { user, password, totp }: Checks): Promise<CheckedLogin> {
  let right: PasswordProof | undefined;
  try {
    return await checkLogin(deps, attempt, { password: password.password, totp: totp?.code }, (proof) => {
      right = proof;
    });
  } catch (error) {
    const isWithoutFactor = error instanceof ApiError && error.id === MFA_SETUP_REQUIRED;
    if (isWithoutFactor) await recordFailedSignIn(deps.pool, 'factor_missing', right, user);
    throw error;
  }
}

async function reachableSession(
  { pool, config }: SessionDeps,
  operation: OperationId,
  req: Request,
  res: Response,
): Promise<Session> {
  const session = await findSession(pool, pathId(req, 'sessionId'), config.SESSION_TTL_DAYS);
  return requireReach(callerOf(res), operation, session, sessionNotFound);
}

function sessionNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'SESSION-NOT-FOUND', 'The session does not exist.');
}

function passwordExpired(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'SESSION-PASSWORD-EXPIRED', 'The password has expired. Set a new one.');
}

function sessionView(session: Session): Record<string, unknown> {
  const created = session.createdAt.toISOString();
  const totp = session.totpVerifiedAt?.toISOString();
  return {
    id: session.id,
    creationDate: created,
    changeDate: session.changedAt.toISOString(),
    sequence: session.sequence,
    expirationDate: session.expiresAt.toISOString(),
    factors: {
      user: {
        verifiedAt: created,
        id: session.userId,
        loginName: session.loginName,
        displayName: session.displayName,
        organizationId: session.orgId,
      },
      password: { verifiedAt: created },
      ...(totp ? { totp: { verifiedAt: totp } } : {}),
    },
  };
}

/**
 * Routes for sessions, in which a program checks the login of a user on their behalf, and for the logins of a user, who
 * sees and ends their own; a manager does so for the users that they manage.
 *
 * Guarantee: people who end their own logins prove that the account is theirs (login/owner-proof.ts), so that the
 * holder of a stolen token does not sign its owner out. Nobody sees or ends the logins of a user with more rights than
 * their own.
 */
import { type Request, type Response, Router } from 'express';
import type { ZodType } from 'zod';
import { type Caller, callerOf, namedOrg, type OperationId, orgsFor, requireReach } from '../contract/permissions.ts';
import { type Checks, endLoginBody, endLoginsBody, newSession } from '../contract/sessions.ts';
import { revokeLogins } from '../directory/revocation.ts';
import { recordFailedSignIn } from '../directory/sign-in-events.ts';
import { accessForChange, type User } from '../directory/users/store.ts';
import type { Config } from '../platform/config.ts';
import { appendEvent, details } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { countTry } from '../platform/http/limits.ts';
import { parseBody, pathId, readJson } from '../platform/http/request-body.ts';
import { randomToken } from '../platform/ids.ts';
import { publish } from '../platform/telemetry.ts';
import type { Attempt } from './login/attempts.ts';
import {
  type CheckedLogin,
  checkLogin,
  MFA_SETUP_REQUIRED,
  type PasswordProof,
  wrongCredentials,
} from './login/check.ts';
import { type LoginDeps, originOfCall, originOfProgram } from './login/origin.ts';
import { requireOwnerProof } from './login/owner-proof.ts';
import {
  addSession,
  endLogin,
  endOtherLogins,
  findSession,
  isCurrent,
  type Login,
  type LoginType,
  listLogins,
  removeSession,
  type Session,
} from './sessions.ts';

/** What the routes of sessions and logins need. */
export type SessionDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> };

/** Routes that open, show and end a session. */
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
  const attempt = {
    user: { ...checks.user, orgIds, orgId: namedOrg(req) },
    ...originOfProgram(req, res, userAgent?.ip),
  };
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

export type LoginsDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> };

/** Routes that list and end the logins of a user. */
export function loginsRoutes(deps: LoginsDeps): Router {
  const { pool, config } = deps;
  const router = Router();
  router.get('/v2beta/users/:userId/logins', async (req, res) => {
    const caller = callerOf(res);
    const { user } = await accessForChange(pool, caller, 'listLogins', pathId(req, 'userId'));
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
  const { user } = await accessForChange(deps.pool, caller, operation, pathId(req, 'userId'));
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
    const { user } = await accessForChange(db, caller, operation, pathId(req, 'userId'), 'for update');
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

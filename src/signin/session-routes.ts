/**
 * Routes for sessions, in which a program checks the login of a user on their behalf, and for the logins of a user, who
 * sees and ends their own; a manager does so for the users that they manage.
 *
 * Guarantee: people who end their own logins prove that the account is theirs (login/owner-proof.ts), so that the
 * holder of a stolen token does not sign its owner out. Nobody sees or ends the logins of a user with more rights than
 * their own.
 */

import { Router } from 'express';
import { type Caller, namedOrg, requireReach } from '../contract/permissions.ts';
import { type Asked, type Finder, type OrgsOfBody, orgsOfBody, serve } from '../contract/serve.ts';
import { type Checks, loginOperations, sessionOperations } from '../contract/sessions.ts';
import { changeableUser } from '../directory/finders.ts';
import { revokeLogins } from '../directory/revocation.ts';
import { recordFailedSignIn } from '../directory/sign-in-events.ts';
import { accessForChange, type Reached, type User } from '../directory/users/store.ts';
import type { Config } from '../platform/config.ts';
import { appendEvent, changedAnswer } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { pathId } from '../platform/http/parse.ts';
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
  const { pool } = deps;
  const router = Router();
  const session = reachableSession(deps);
  serve(router, sessionOperations.createSession, orgsOfBody, (asked) => create(deps, asked));
  serve(router, sessionOperations.getSession, session, ({ target }) => ({ session: sessionView(target) }));
  serve(router, sessionOperations.deleteSession, session, async ({ caller, target }) => {
    const event = await transaction(pool, (db) => removeSession(db, target, caller.userId));
    if (!event) throw sessionNotFound();
    return changedAnswer(event, target.orgId);
  });
  return router;
}

/**
 * A user of an organization on which the caller has no role is treated as unknown: the answer, its time and the counts
 * of failures do not tell such a caller whether the password was right. A user who must set a new password still gets a
 * session, and the response says so. With an expired password there is no session: it must be changed first.
 */
async function create(deps: LoginDeps, { caller, target, body: { checks, userAgent }, req, res }: NewSession) {
  const attempt = {
    user: { ...checks.user, orgIds: target.orgIds, orgId: namedOrg(req) },
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
  return {
    ...changedAnswer(session, login.orgId),
    sessionId: session.id,
    sessionToken: token,
    ...(login.mustChange ? { passwordChangeRequired: true as const } : {}),
  };
}

interface NewSession extends Asked {
  target: OrgsOfBody;
  body: { checks: Checks; userAgent?: { ip?: string | undefined } | undefined };
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

/** The session of the path. */
function reachableSession({ pool, config }: SessionDeps): Finder<'session', Session> {
  return {
    of: 'session',
    async find({ caller, operation, req }) {
      const session = await findSession(pool, pathId(req, 'sessionId'), config.SESSION_TTL_DAYS);
      return requireReach(caller, operation, session, sessionNotFound);
    },
  };
}

function sessionNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'SESSION-NOT-FOUND', 'The session does not exist.');
}

function passwordExpired(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'SESSION-PASSWORD-EXPIRED', 'The password has expired. Set a new one.');
}

function sessionView(session: Session) {
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
  const user = changeableUser(pool);
  serve(router, loginOperations.listLogins, user, async ({ caller, target }) => {
    const logins = await listLogins(pool, target.user.id, config.SESSION_TTL_DAYS);
    return { result: logins.map((login) => loginView(login, isCurrent(login, caller.login))) };
  });
  serve(router, loginOperations.endLogins, user, async (asked) => {
    await prove(deps, asked);
    return end(pool, asked, (db, user) => endAll(db, user, asked.caller, asked.body.keepCurrent));
  });
  serve(router, loginOperations.endLogin, user, async (asked) => {
    await prove(deps, asked);
    return end(pool, asked, (db, user) => endLogin(db, user.id, asked.params.loginId));
  });
  return router;
}

interface OfLogins extends Asked {
  target: Reached;
  body: { currentPassword?: string | undefined };
  countTry(): Promise<void>;
}

/** @throws ApiError as `requireOwnerProof` */
async function prove(deps: LoginsDeps, { caller, target, body, countTry, req, res }: OfLogins): Promise<void> {
  if (body.currentPassword !== undefined) await countTry();
  await requireOwnerProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword);
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
  { caller, operation, target }: OfLogins,
  work: (db: Db, user: User) => Promise<LoginType | 'all' | 'others' | undefined>,
) {
  return transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
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
    return changedAnswer(event, user.orgId);
  });
}

function loginView(login: Login, isCurrent: boolean) {
  const { type, id, clientId, clientName, address, userAgent, createdAt, lastUsedAt, expiresAt } = login;
  return {
    id,
    type: `LOGIN_TYPE_${type.toUpperCase() as Uppercase<LoginType>}` as const,
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

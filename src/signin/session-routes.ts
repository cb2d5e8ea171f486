/**
 * Routes for sessions, in which a program checks the login of a user on their behalf, and for the logins of a user, who
 * sees and ends their own; a manager does so for the users that they manage.
 *
 * Guarantee: people who end their own logins prove that the account is theirs (login/owner-proof.ts), so that the
 * holder of a stolen token does not sign its owner out. Nobody sees or ends the logins of a user with more rights than
 * their own.
 */

import { Router } from 'express';
import type { z } from 'zod';
import { type Caller, namedOrg, permissionDenied, requireReach } from '../contract/permissions.ts';
import { type Asked, type Finder, type OrgsOfBody, orgsOfBody, serve } from '../contract/serve.ts';
import {
  type Checks,
  type changedSession,
  type FactorChecks,
  type newSession,
  type OtpEmail,
  sessionOperations,
} from '../contract/sessions.ts';
import { recordFailedSignIn } from '../directory/sign-in-events.ts';
import { requireAllowedTemplate } from '../directory/users/routes.ts';
import { accessForChange, findUser } from '../directory/users/store.ts';
import { holderOf } from '../messages/mail/sign-in-codes.ts';
import type { Config } from '../platform/config.ts';
import { type AppendedEvent, changedAnswer } from '../platform/db/events.ts';
import { type Db, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { badFields, pathId } from '../platform/http/parse.ts';
import { newId, randomToken } from '../platform/ids.ts';
import { publish } from '../platform/telemetry.ts';
import { type FactorAttempt, kindOf } from './factors/second-factor.ts';
import { checkIntent } from './intents.ts';
import type { Attempt } from './login/attempts.ts';
import {
  type CheckedLogin,
  checkLogin,
  MFA_SETUP_REQUIRED,
  type PasswordProof,
  wrongCredentials,
} from './login/check.ts';
import { type LoginDeps, originOfProgram } from './login/origin.ts';
import { findLogin } from './login/store.ts';
import { askByProgram } from './mail-code/ask.ts';
import { checkMailCode, wrongMailCode } from './mail-code/check.ts';
import {
  addSession,
  addWaitingSession,
  findSession,
  isTokenOf,
  openWaiting,
  removeSession,
  renewToken,
  type Session,
  sessionNotFound,
} from './sessions.ts';

/** What the routes of sessions and logins need. */
export type SessionDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS' | 'baseUrl' | 'IDP_ALLOW_PRIVATE'> };

/** Routes that open, show and end a session. */
export function sessionRoutes(deps: SessionDeps): Router {
  const { pool } = deps;
  const router = Router();
  const session = reachableSession(deps);
  serve(router, sessionOperations.createSession, orgsOfBody, (asked) => create(deps, asked));
  serve(router, sessionOperations.getSession, session, ({ target }) => ({ session: sessionView(target) }));
  serve(router, sessionOperations.updateSession, session, (asked) => update(deps, asked));
  serve(router, sessionOperations.deleteSession, session, async ({ caller, target }) => {
    const event = await transaction(pool, (db) => removeSession(db, target, caller.userId));
    if (!event) throw sessionNotFound();
    return changedAnswer(event, target.orgId);
  });
  return router;
}

/** With a password, the session is open before a code is asked for; without one, it waits for the code. */
async function create(deps: SessionDeps, asked: NewSession) {
  const { checks, challenges } = asked.body;
  const { password, idpIntent } = checks;
  if (password === undefined && idpIntent === undefined) return createWaiting(deps, asked);
  const opened = await (idpIntent
    ? createByIntent(deps, asked, idpIntent)
    : createOpen(deps, asked, { ...checks, password } as PasswordChecks));
  if (challenges?.otpEmail === undefined) return opened;
  const session = await findSession(deps.pool, opened.sessionId, deps.config.SESSION_TTL_DAYS);
  if (!session) throw sessionNotFound();
  try {
    const { code } = await ask(deps, asked, session, challenges.otpEmail);
    return { ...opened, ...challengesOf(code) };
  } catch (error) {
    await transaction(deps.pool, (db) => removeSession(db, session, asked.caller.userId));
    throw error;
  }
}

async function createWaiting(deps: SessionDeps, asked: NewSession) {
  const { caller, target, req, body } = asked;
  const { user } = body.checks;
  const description = 'is checked with a password, or with the code that PATCH sends';
  const { factor } = secondOf(body.checks);
  if (factor) throw badFields('SESSION-INVALID', [{ field: `checks.${kindOf(factor)}`, description }]);
  const scope = { orgIds: target.orgIds, orgId: namedOrg(req), alsoUnverified: true };
  const login = await findLogin(deps.pool, { ...user, ...scope });
  if (!login) throw wrongCredentials();
  const id = newId();
  const token = randomToken();
  const otpEmail = body.challenges?.otpEmail ?? {};
  const { event, code } = await ask(
    deps,
    asked,
    { id, userId: login.id, orgId: login.orgId },
    otpEmail,
    (db, sequence) =>
      addWaitingSession(
        db,
        { id, userId: login.id, sequence, editor: caller.userId, address: body.userAgent?.ip },
        token,
      ),
  );
  return { ...changedAnswer(event, login.orgId), sessionId: id, sessionToken: token, ...challengesOf(code) };
}

function challengesOf(code: string | undefined) {
  return code === undefined ? {} : { challenges: { otpEmail: code } };
}

/**
 * Asks for a code. To be told it, or to say where the link of its mail leads, the caller must be a manager of the user,
 * with at least their rights.
 * @param also what is written with it, with the sequence of the event
 * @throws ApiError 403; 400 SESSION-OTP-EMAIL-UNAVAILABLE, URL-TEMPLATE-NOT-ALLOWED; 429 MAIL-LIMIT
 */
async function ask(
  { pool, secrets, config }: SessionDeps,
  { caller }: Pick<Asked, 'caller'>,
  session: Pick<Session, 'id' | 'userId' | 'orgId'>,
  { sendCode, returnCode }: OtpEmail,
  also?: (db: Db, sequence: string) => Promise<void>,
) {
  const urlTemplate = sendCode?.urlTemplate;
  const field = 'challenges.otpEmail.sendCode.urlTemplate';
  await requireAllowedTemplate({ pool, config }, session.orgId, field, urlTemplate);
  return transaction(pool, async (db) => {
    const user = await findUser(db, session.userId, 'for update');
    if (!user) throw wrongCredentials();
    if (returnCode || urlTemplate !== undefined) {
      const { relation } = await accessForChange(db, caller, 'resetPassword', user.id);
      if (relation !== 'manager') throw permissionDenied();
    }
    const holder = holderOf('session', session.id);
    const asked = { holder, editor: caller.userId, returnsCode: returnCode !== undefined, urlTemplate };
    const made = await askByProgram({ db, secrets }, user, asked);
    await also?.(db, made.event.sequence);
    return made;
  });
}

interface ChangedSession extends Asked {
  target: Session;
  body: z.output<typeof changedSession>;
  countTry(): Promise<void>;
}

/** Only the program that opened the session has its code: others of the organization do not try it. */
async function update(deps: SessionDeps, asked: ChangedSession) {
  const { caller, target: session, body } = asked;
  if (body.checks) await asked.countTry();
  if (session.openedBy !== caller.userId) throw body.checks ? wrongMailCode() : permissionDenied();
  if (body.sessionToken !== undefined && !(await isTokenOf(deps.pool, session.id, body.sessionToken))) {
    throw badFields('SESSION-TOKEN', [{ field: 'sessionToken', description: 'is not the token of the session' }]);
  }
  const token = randomToken();
  const more = body.checks && (await checkMore(deps, asked, body.checks, token));
  let event = more?.event;
  const { otpEmail } = body.challenges ?? {};
  const made = otpEmail && (await ask(deps, asked, session, otpEmail));
  if (made && !event) await renewToken(deps.pool, session.id, made.event.sequence, token);
  event = made?.event ?? event;
  if (!event) throw sessionNotFound();
  return { ...changedAnswer(event, session.orgId), sessionToken: token, ...leftOf(more), ...challengesOf(made?.code) };
}

/** What an answer says after a recovery code was used. */
function leftOf(login: Pick<CheckedLogin, 'factor'> | undefined): { recoveryCodesLeft?: number } {
  const left = login?.factor?.left;
  return left === undefined ? {} : { recoveryCodesLeft: left };
}

/** The second factor in the checks of a session. */
function secondOf({ totp, recoveryCode }: FactorChecks): FactorAttempt {
  if (totp) return { factor: { totp: totp.code } };
  return recoveryCode ? { factor: { recoveryCode: recoveryCode.code } } : {};
}

type MoreChecks = NonNullable<z.output<typeof changedSession>['checks']>;

async function checkMore(
  deps: SessionDeps,
  asked: ChangedSession,
  checks: MoreChecks,
  token: string,
): Promise<Pick<CheckedLogin, 'factor'> & { event: AppendedEvent }> {
  const { target: session } = asked;
  const login = await checkedLogin(deps, asked, checks);
  const event = await transaction(deps.pool, (db) => openWaiting(db, session, login, token));
  if (!event) throw wrongCredentials();
  publish('signIn', 'succeeded');
  return { ...login, event };
}

/** With a sign-in at an external provider. */
async function createByIntent(
  deps: LoginDeps,
  { caller, target, body: { checks, userAgent }, req, res }: NewSession,
  intent: NonNullable<Checks['idpIntent']>,
) {
  const user = await findLogin(deps.pool, { ...checks.user, orgIds: target.orgIds, orgId: namedOrg(req) });
  if (!user) throw wrongCredentials();
  const origin = originOfProgram(req, res, userAgent?.ip);
  const login = await checkIntent(deps, caller, { user, intent, second: secondOf(checks), origin });
  return openSession(deps, caller, login, userAgent?.ip);
}

/**
 * A user of an organization on which the caller has no role is treated as unknown: the answer, its time and the counts
 * of failures do not tell such a caller whether the password was right. A user who must set a new password still gets a
 * session, and the response says so. With an expired password there is no session: it must be changed first.
 */
async function createOpen(
  deps: LoginDeps,
  { caller, target, body: { userAgent }, req, res }: NewSession,
  checks: PasswordChecks,
) {
  const attempt = {
    user: { ...checks.user, orgIds: target.orgIds, orgId: namedOrg(req) },
    ...originOfProgram(req, res, userAgent?.ip),
  };
  const login = await checked(deps, attempt, checks);
  if (login.mustChange === 'expired') {
    await recordFailedSignIn(deps.pool, 'password_expired', login, checks.user);
    throw passwordExpired();
  }
  return openSession(deps, caller, login, userAgent?.ip);
}

/** @param address of the person, if the program named it @throws ApiError 400 SESSION-CREDENTIALS */
async function openSession({ pool }: LoginDeps, caller: Caller, login: CheckedLogin, address: string | undefined) {
  const token = randomToken();
  const session = await addSession(pool, login, token, caller.userId, address);
  if (!session) throw wrongCredentials();
  publish('signIn', 'succeeded');
  return {
    ...changedAnswer(session, login.orgId),
    sessionId: session.id,
    sessionToken: token,
    ...leftOf(login),
    ...(login.mustChange ? { passwordChangeRequired: true as const } : {}),
  };
}

/** By a code by mail, or by a sign-in at an external provider. */
function checkedLogin(
  deps: SessionDeps,
  { caller, target: session, req, res }: ChangedSession,
  { otpEmail, idpIntent, ...checks }: MoreChecks,
): Promise<CheckedLogin> {
  const origin = originOfProgram(req, res, session.address ?? undefined);
  if (idpIntent) {
    const user = { id: session.userId, orgId: session.orgId };
    return checkIntent(deps, caller, { user, intent: idpIntent, second: secondOf(checks), origin });
  }
  const { factor } = secondOf(checks);
  const code = { code: otpEmail?.code ?? '', factor, holder: holderOf('session', session.id), keepsCode: true };
  return checkMailCode(deps, { user: { userId: session.userId }, ...origin }, code);
}

interface NewSession extends Asked {
  target: OrgsOfBody;
  body: z.output<typeof newSession>;
}

type PasswordChecks = Checks & { password: NonNullable<Checks['password']> };

/** The right password of a user who still has to set up a second factor is recorded: a program can only refuse them. */
async function checked(
  deps: LoginDeps,
  attempt: Attempt,
  { user, password, ...checks }: PasswordChecks,
): Promise<CheckedLogin> {
  let right: PasswordProof | undefined;
  try {
    return await checkLogin(deps, attempt, { password: password.password, ...secondOf(checks) }, (proof) => {
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

function passwordExpired(): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'SESSION-PASSWORD-EXPIRED', 'The password has expired. Set a new one.');
}

function sessionView(session: Session) {
  const created = session.createdAt.toISOString();
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
      ...(session.passwordVerified ? { password: { verifiedAt: created } } : {}),
      ...verified('otpEmail', session.otpEmailVerifiedAt),
      ...verified('intent', session.intentVerifiedAt),
      ...verified('totp', session.totpVerifiedAt),
      ...verified('recoveryCode', session.recoveryCodeVerifiedAt),
    },
  };
}

function verified(factor: string, at: Date | null): Record<string, { verifiedAt: string }> {
  return at ? { [factor]: { verifiedAt: at.toISOString() } } : {};
}

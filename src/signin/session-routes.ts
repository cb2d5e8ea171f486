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
import type { Challenges } from '../contract/session-challenges.ts';
import {
  type Checks,
  type changedSession,
  type FactorChecks,
  type newSession,
  sessionOperations,
} from '../contract/sessions.ts';
import { recordFailedSignIn } from '../directory/sign-in-events.ts';
import { findUser } from '../directory/users/store.ts';
import { holderOf } from '../messages/mail/sign-in-codes.ts';
import type { Config } from '../platform/config.ts';
import { type AppendedEvent, changedAnswer } from '../platform/db/events.ts';
import { transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { badFields, pathId } from '../platform/http/parse.ts';
import { newId, randomToken } from '../platform/ids.ts';
import { publish } from '../platform/telemetry.ts';
import { type FactorAttempt, type FactorGiven, type FirstFactor, kindOf } from './factors/second-factor.ts';
import type { SentKind } from './factors/sent-codes.ts';
import { checkIntent } from './intents.ts';
import type { Attempt } from './login/attempts.ts';
import {
  type CheckedLogin,
  checkAfterPassword,
  checkLogin,
  MFA_SETUP_REQUIRED,
  type PasswordProof,
  SECOND_FACTOR_REQUIRED,
  wrongCredentials,
} from './login/check.ts';
import { type LoginDeps, type Origin, originOfProgram } from './login/origin.ts';
import { findLogin } from './login/store.ts';
import { checkMailCode, WRONG_CODE, wrongMailCode } from './mail-code/check.ts';
import { checkByPasskey, wrongPasskey } from './passkeys/sign-in.ts';
import {
  type AfterPassword,
  askedAfterPassword,
  askFor,
  asksAny,
  type ChallengeDeps,
  type ChallengedSession,
  passkeyOf,
  passwordNow,
  secondHolder,
} from './session-challenges.ts';
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
import { checkTextCode, wrongTextCode } from './sms-code/check.ts';
import { purposeOf } from './webauthn/ceremony.ts';

/** What the routes of sessions and logins need. */
export type SessionDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> } & ChallengeDeps;

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

/**
 * With a password, the session is open before a code is asked for; it waits for the code without one, and where the code
 * is the second factor of the user.
 */
async function create(deps: SessionDeps, asked: NewSession) {
  const { checks, challenges } = asked.body;
  const { password, idpIntent } = checks;
  if (password === undefined && idpIntent === undefined) return createWaiting(deps, asked);
  if (idpIntent) return challenge(deps, asked, await createByIntent(deps, asked, idpIntent));
  const right: { proof?: PasswordProof } = {};
  try {
    return await challenge(
      deps,
      asked,
      await createOpen(deps, asked, { ...checks, password } as PasswordChecks, right),
    );
  } catch (error) {
    const isHalf = error instanceof ApiError && error.id === SECOND_FACTOR_REQUIRED;
    if (!isHalf || !right.proof || !asksAny(challenges)) throw error;
    return createHalf(deps, asked, right.proof, challenges);
  }
}

/** Asks for the codes of a session that is open; without them, it is closed. */
async function challenge(deps: SessionDeps, { body, caller }: NewSession, opened: Opened) {
  if (!asksAny(body.challenges)) return opened;
  const session = await findSession(deps.pool, opened.sessionId, deps.config.SESSION_TTL_DAYS);
  if (!session) throw sessionNotFound();
  try {
    const { challenges } = await askFor(deps, caller, session, body.challenges);
    return { ...opened, ...(challenges ? { challenges } : {}) };
  } catch (error) {
    await transaction(deps.pool, (db) => removeSession(db, session, caller.userId));
    throw error;
  }
}

/** The password was right, and the second factor is one of which a program has asked for a code. */
async function createHalf(deps: SessionDeps, asked: NewSession, after: AfterPassword, challenges: Challenges) {
  const user = await findUser(deps.pool, after.id);
  if (!user) throw wrongCredentials();
  return addWaiting(deps, asked, { userId: user.id, orgId: user.orgId, after }, challenges);
}

async function createWaiting(deps: SessionDeps, asked: NewSession) {
  const { target, req, body } = asked;
  const { user } = body.checks;
  const description = 'is checked with a password, or with the code that PATCH sends';
  const { factor } = secondOf(body.checks);
  if (factor) throw badFields('SESSION-INVALID', [{ field: `checks.${kindOf(factor)}`, description }]);
  const challenges = body.challenges ?? {};
  const alsoUnverified = challenges.otpEmail !== undefined;
  const scope = { orgIds: target.orgIds, orgId: namedOrg(req), alsoUnverified };
  const login = await findLogin(deps.pool, { ...user, ...scope });
  if (!login) throw wrongCredentials();
  return addWaiting(deps, asked, { userId: login.id, orgId: login.orgId }, challenges);
}

async function addWaiting(
  deps: SessionDeps,
  { caller, body }: NewSession,
  of: Omit<ChallengedSession, 'id'>,
  challenges: Challenges,
) {
  const id = newId();
  const token = randomToken();
  const { userId } = of;
  const { event, challenges: returned } = await askFor(deps, caller, { id, ...of }, challenges, (db, sequence) =>
    addWaitingSession(db, { id, userId, sequence, editor: caller.userId, address: body.userAgent?.ip }, token),
  );
  const answer = { ...changedAnswer(event, of.orgId), sessionId: id, sessionToken: token };
  return returned ? { ...answer, challenges: returned } : answer;
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
  if (session.openedBy !== caller.userId) throw body.checks ? wrongCodeOf(body.checks) : permissionDenied();
  if (body.sessionToken !== undefined && !(await isTokenOf(deps.pool, session.id, body.sessionToken))) {
    throw badFields('SESSION-TOKEN', [{ field: 'sessionToken', description: 'is not the token of the session' }]);
  }
  const token = randomToken();
  const more = body.checks && (await checkMore(deps, asked, body.checks, token));
  const made = asksAny(body.challenges) ? await askMore(deps, asked, body.challenges, more !== undefined) : undefined;
  if (made && !more) await renewToken(deps.pool, session.id, made.event.sequence, token);
  const event = made?.event ?? more?.event;
  if (!event) throw sessionNotFound();
  const returned = made?.challenges ? { challenges: made.challenges } : {};
  return { ...changedAnswer(event, session.orgId), sessionToken: token, ...leftOf(more), ...mustOf(more), ...returned };
}

/** A session whose second factor is missing asks for further codes of it. */
async function askMore(
  deps: SessionDeps,
  { caller, target: session }: ChangedSession,
  challenges: Challenges,
  isOpened: boolean,
) {
  const after = isOpened || session.passwordVerified ? undefined : await askedAfterPassword(deps, session);
  return askFor(deps, caller, { id: session.id, userId: session.userId, orgId: session.orgId, after }, challenges);
}

function wrongCodeOf({ otpSms, webAuthN }: MoreChecks): ApiError {
  if (webAuthN) return wrongPasskey();
  return otpSms ? wrongTextCode() : wrongMailCode();
}

function mustOf(login: Pick<CheckedLogin, 'mustChange'> | undefined): { passwordChangeRequired?: true } {
  return login?.mustChange ? { passwordChangeRequired: true } : {};
}

/** What an answer says after a recovery code was used. */
function leftOf(login: Pick<CheckedLogin, 'factor'> | undefined): { recoveryCodesLeft?: number } {
  const left = login?.factor?.left;
  return left === undefined ? {} : { recoveryCodesLeft: left };
}

/** The second factor in the checks of a session. */
function secondOf({ totp, recoveryCode, webAuthN }: FactorChecks): FactorAttempt {
  if (webAuthN) return { factor: { webAuthN: webAuthN.credentialAssertionData } };
  if (totp) return { factor: { totp: totp.code } };
  return recoveryCode ? { factor: { recoveryCode: recoveryCode.code } } : {};
}

type MoreChecks = NonNullable<z.output<typeof changedSession>['checks']>;

async function checkMore(
  deps: SessionDeps,
  asked: ChangedSession,
  checks: MoreChecks,
  token: string,
): Promise<Pick<CheckedLogin, 'factor' | 'mustChange'> & { event: AppendedEvent }> {
  const { target: session } = asked;
  const { login, first } = await checkedLogin(deps, asked, checks);
  const event = await transaction(deps.pool, (db) => openWaiting(db, session, login, token, first));
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
  right: { proof?: PasswordProof },
) {
  const attempt = {
    user: { ...checks.user, orgIds: target.orgIds, orgId: namedOrg(req) },
    ...originOfProgram(req, res, userAgent?.ip),
  };
  const login = await checked(deps, attempt, checks, right);
  if (login.mustChange === 'expired') {
    await recordFailedSignIn(deps.pool, 'password_expired', login, checks.user);
    throw passwordExpired();
  }
  return openSession(deps, caller, login, userAgent?.ip);
}

type Opened = Awaited<ReturnType<typeof openSession>>;

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
    ...mustOf(login),
  };
}

interface CheckedFirst {
  login: CheckedLogin;
  first: FirstFactor;
}

/** By a code by mail or text message, by a sign-in at an external provider, or after the password by its second factor. */
async function checkedLogin(deps: SessionDeps, asked: ChangedSession, checks: MoreChecks): Promise<CheckedFirst> {
  const { caller, target: session, req, res } = asked;
  const { otpEmail, otpSms, webAuthN, idpIntent, ...others } = checks;
  const origin = originOfProgram(req, res, session.address ?? undefined);
  const second = secondOf(others);
  if (idpIntent) {
    const user = { id: session.userId, orgId: session.orgId };
    return { login: await checkIntent(deps, caller, { user, intent: idpIntent, second, origin }), first: 'provider' };
  }
  if (webAuthN) return checkKey(deps, asked, { answer: webAuthN.credentialAssertionData, origin, second });
  const [kind, sent] = otpSms ? (['otpSms', otpSms] as const) : (['otpEmail', otpEmail] as const);
  const entered = sent?.code ?? '';
  const after = await askedAfterPassword(deps, session, kind);
  if (after)
    return {
      login: await checkHalf(deps, asked, { after, origin, second, factor: factorOf(kind, entered) }),
      first: 'password',
    };
  const attempt = { user: { userId: session.userId }, ...origin };
  const code = { code: entered, ...second, holder: holderOf('session', session.id), keepsCode: true };
  if (kind === 'otpEmail') return { login: await checkMailCode(deps, attempt, code), first: 'mail' };
  const login = await checkTextCode(deps, attempt, code).catch((error: unknown) => {
    throw error instanceof ApiError && error.id === WRONG_CODE ? wrongTextCode() : error;
  });
  return { login, first: 'sms' };
}

interface HalfCheck {
  after: AfterPassword;
  origin: Origin;
  factor: FactorGiven;
  /** Another second factor that was sent. */
  second: FactorAttempt;
}

function factorOf(kind: SentKind, entered: string): FactorGiven {
  return kind === 'otpSms' ? { otpSms: entered } : { otpEmail: entered };
}

/** A passkey that signs in, or a key as the second factor after the password: as its challenge was made. */
async function checkKey(
  deps: SessionDeps,
  asked: ChangedSession,
  { answer, origin, second }: Pick<HalfCheck, 'origin' | 'second'> & { answer: unknown },
): Promise<CheckedFirst> {
  const { target: session } = asked;
  const after = await passwordNow(deps, session.userId);
  if (after && purposeOf(deps.secrets, answer) === 'factor') {
    const factor = { webAuthN: answer };
    return { login: await checkHalf(deps, asked, { after, origin, second, factor }), first: 'password' };
  }
  const of = { answer, of: passkeyOf(session.id), userId: session.userId };
  return { login: await checkByPasskey(deps, of, origin), first: 'passkey' };
}

function requireNoOther({ factor }: FactorAttempt): void {
  if (!factor) return;
  const description = 'is not checked too: nothing else is needed';
  throw badFields('SESSION-INVALID', [{ field: `checks.${kindOf(factor)}`, description }]);
}

/** The second factor of a session in which the password was checked. */
async function checkHalf(
  deps: SessionDeps,
  { target: session }: ChangedSession,
  { after, origin, factor, second }: HalfCheck,
): Promise<CheckedLogin> {
  requireNoOther(second);
  const holder = secondHolder(session.id, after);
  const login = await checkAfterPassword(deps, after, origin, { factor, holder });
  if (login.mustChange !== 'expired') return login;
  await recordFailedSignIn(deps.pool, 'password_expired', login, { userId: session.userId });
  throw passwordExpired();
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
  right: { proof?: PasswordProof },
): Promise<CheckedLogin> {
  try {
    return await checkLogin(deps, attempt, { password: password.password, ...secondOf(checks) }, (proof) => {
      right.proof = proof;
    });
  } catch (error) {
    const isWithoutFactor = error instanceof ApiError && error.id === MFA_SETUP_REQUIRED;
    if (isWithoutFactor) await recordFailedSignIn(deps.pool, 'factor_missing', right.proof, user);
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
      ...verified('otpSms', session.otpSmsVerifiedAt),
      ...(session.webauthnVerifiedAt
        ? {
            webAuthN: {
              verifiedAt: session.webauthnVerifiedAt.toISOString(),
              userVerified: session.webauthnUserVerified,
            },
          }
        : {}),
      ...verified('intent', session.intentVerifiedAt),
      ...verified('totp', session.totpVerifiedAt),
      ...verified('recoveryCode', session.recoveryCodeVerifiedAt),
    },
  };
}

function verified(factor: string, at: Date | null): Record<string, { verifiedAt: string }> {
  return at ? { [factor]: { verifiedAt: at.toISOString() } } : {};
}

/**
 * Password resets (by a manager of the user, by the users themselves, or on the page for forgotten passwords), and the
 * routes `…/password` and `…/password_reset`.
 *
 * A bearer token is optional for the first route, as a valid code of the user is enough to set a password. Every other
 * call needs a caller; without one it is refused, and its body is read at most to look for a code.
 *
 * Guarantee: a link to set a password goes only to a verified address, or to a user who has never had a password, whose
 * address it then verifies; of users who are left out of mail codes, only when a manager asks. The page's response takes the same time whether or not the user exists and whatever is
 * sent. The page sends a user at most one such email a minute.
 *
 * On crash: after the response and before the commit, nothing was sent and the user can request it again.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Request, type Response, Router } from 'express';
import type { Logger } from 'pino';
import {
  credentialOperations as operations,
  type PasswordResetInput,
  passwordBody,
} from '../../contract/credentials.ts';
import type { LinkKind } from '../../contract/link-templates.ts';
import type { Caller } from '../../contract/permissions.ts';
import { type Finder, serve, serveRaw } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { requireAllowedTemplate } from '../../directory/users/routes.ts';
import { accessForChange, findUser, stateNow, type User } from '../../directory/users/store.ts';
import {
  ANYBODY,
  issueCode,
  MAIL_LIMIT,
  mailRequested,
  PASSWORD_CODES,
  rememberLogin,
  renewsLink,
} from '../../messages/mail/codes.ts';
import type { Config } from '../../platform/config.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { idProblem, textProblem } from '../../platform/fields.ts';
import { type BodyLimits, badFields, parseBody, pathId } from '../../platform/http/parse.ts';
import { readJson } from '../../platform/http/request-body.ts';
import { loggable } from '../../platform/logger.ts';
import { authenticateIfPresent, unauthenticated } from '../authenticate.ts';
import { isFactorLost, requireNoLostFactor } from '../factors/lost.ts';
import { type LoginDeps, originOfCall, originOfForm } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';
import { findLogin } from '../login/store.ts';
import { type Changed, changedAnswer, recordRequest, requireHuman, requireVouching } from './change.ts';
import { requireAddress, resendEmailCode } from './contacts.ts';
import { setPassword } from './password.ts';
import { setPasswordByCode } from './verification.ts';

export interface PasswordDeps extends LoginDeps {
  config: LoginDeps['config'] & Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS' | 'RESET_CODE_TTL_MS'>;
}

/** Routes that set and reset a password. */
export function passwordRoutes(deps: PasswordDeps): Router {
  const router = Router();
  router.use(['/v2beta/users/:userId/password', '/v2beta/users/:userId/password_reset'], authenticateIfPresent(deps));
  serveRaw(router, operations.setPassword, holderOrCaller, ({ req, res }) => postPassword(deps, req, res));
  serve(router, operations.resetPassword, withCaller(changeableUser(deps.pool)), async (asked) => {
    const { caller, target, body: input } = asked;
    requireVouching(target.relation, input);
    await requireAllowedTemplate(deps, target.user.orgId, 'sendLink.urlTemplate', input.sendLink?.urlTemplate);
    return transaction(deps.pool, async (db) => {
      const { user, relation } = await accessForChange(db, caller, 'resetPassword', target.user.id, 'for update');
      requireHuman(user, 'PASSWORD-NOT-HUMAN');
      requireVouching(relation, input);
      return changedAnswer(user, await resetPassword({ ...deps, db }, user, input, caller.userId));
    });
  });
  return router;
}

/** The body tells whether a code or the caller decides. */
const holderOrCaller: Finder<'user', undefined> = { of: 'user', find: () => undefined };

/** These routes come before those that need a caller. */
function withCaller<T>({ of, find }: Finder<'user', T>): Finder<'user', T> {
  return {
    of,
    find(asked) {
      requireCaller(asked.res);
      return find(asked);
    },
  };
}

async function postPassword(deps: PasswordDeps, req: Request, res: Response): Promise<void> {
  const body = await readForCode(req, res);
  if (body.holdsCode) return setByCode(deps, req, res, body.value);
  const caller = requireCaller(res);
  const userId = pathId(req, 'userId');
  const { user, relation } = await accessForChange(deps.pool, caller, 'setPassword', userId);
  if (body.problem) throw body.problem;
  const { newPassword, currentPassword, mailedCode, endSessions } = parseBody(
    passwordBody,
    body.value,
    'PASSWORD-INVALID',
  );
  if (relation === 'self' && currentPassword === undefined) {
    throw badFields('PASSWORD-INVALID', [{ field: 'currentPassword', description: 'is required' }]);
  }
  const origin = originOfCall(req, res);
  if (currentPassword === undefined) await requireOwnerProof(deps, caller, user, origin, undefined, mailedCode);
  else if (user.id === caller.userId) await requireNoLostFactor(deps, user.id, { mailedCode, givesPassword: true });
  const lock = async (db: Db) => (await accessForChange(db, caller, 'setPassword', userId, 'for update')).user;
  const current = currentPassword === undefined ? undefined : { password: currentPassword, ...origin };
  const by = { userId, editor: caller.userId, current, endSessions, lock };
  res.json({ details: await setPassword(deps, by, newPassword) });
}

/** Needs no caller: the code is the authorization. */
async function setByCode(deps: PasswordDeps, req: Request, res: Response, body: unknown): Promise<void> {
  const userId = pathId(req, 'userId');
  const { newPassword, verificationCode = '' } = parseBody(passwordBody, body, 'PASSWORD-INVALID');
  const caller = callerIfAny(res);
  const origin = caller ? originOfCall(req, res) : originOfForm(req, res);
  const holder = { userId, code: verificationCode, editor: caller?.userId ?? userId, origin };
  res.json({ details: await setPasswordByCode(deps, holder, newPassword) });
}

interface Body {
  value?: unknown;
  holdsCode: boolean;
  /** Why the body cannot be read; reported only to callers with permission. */
  problem?: unknown;
}

/** Low, as this body is read for unauthenticated clients too. */
const CODE_BODY: BodyLimits = { bytes: 64 * 1024, values: 100 };

async function readForCode(req: Request, res: Response): Promise<Body> {
  try {
    const value = await readJson(req, res, CODE_BODY);
    const { verificationCode, verification_code: alias } = (value ?? {}) as Record<string, unknown>;
    return { value, holdsCode: (verificationCode ?? alias ?? undefined) !== undefined };
  } catch (problem) {
    return { holdsCode: false, problem };
  }
}

function callerIfAny(res: Response): Caller | undefined {
  return res.locals.caller as Caller | undefined;
}

/** @throws ApiError 401 */
function requireCaller(res: Response): Caller {
  const caller = callerIfAny(res);
  if (!caller) throw unauthenticated();
  return caller;
}

type ResetConfig = Pick<Config, 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS' | 'RESET_CODE_TTL_MS'>;

/**
 * Emails a link to set a new password, or returns a code for it. A user who has a password but no verified address gets
 * the email to verify the address instead. Runs in the caller's transaction, with the user's row locked.
 * @throws ApiError 400 PASSWORD-RESET-INACTIVE, EMAIL-NONE, 429 MAIL-LIMIT
 */
export async function resetPassword(
  deps: { db: Db; secrets: Secrets; config: ResetConfig },
  user: User,
  { sendLink, returnCode }: PasswordResetInput,
  editor: string,
): Promise<Changed> {
  const { db, secrets, config } = deps;
  if (stateNow(user) === 'inactive') {
    throw new ApiError('FAILED_PRECONDITION', 'PASSWORD-RESET-INACTIVE', 'The user is deactivated.');
  }
  const kind = mailFor(user);
  if (!returnCode) requireAddress(user.email);
  if (!returnCode && kind === 'verify_email') return resendEmailCode(deps, user, {}, editor);
  const event = await recordRequest(db, user, { type: 'user.human.password.code.added', editor });
  const code = { userId: user.id, codeTtlMs: config.RESET_CODE_TTL_MS };
  if (returnCode)
    return { event, verificationCode: await issueCode(db, secrets, { ...code, purpose: 'reset_password' }) };
  const codeTtlMs = kind === 'initialise' ? config.CODE_TTL_MS : config.RESET_CODE_TTL_MS;
  await mailRequested(deps, { ...code, kind, codeTtlMs, urlTemplate: sendLink?.urlTemplate }, editor);
  return { event };
}

/** The mail that leads to a new password, at once or after the address is verified. */
function mailFor({ state, emailVerified, hasPassword }: User): LinkKind {
  if (state === 'initial' || !(emailVerified || hasPassword)) return 'initialise';
  return emailVerified ? 'reset_password' : 'verify_email';
}

/** Minimum time of the page's response, in milliseconds: longer than the work usually takes. */
const ANSWER_AFTER_MS = 200;

export interface ForgottenDeps {
  pool: Pool;
  secrets: Secrets;
  config: ResetConfig & Pick<Config, 'baseUrl'>;
  logger: Logger;
}

/**
 * For the page of forgotten passwords: emails a link to the human with this login name, if there is one who is not
 * deactivated. Does not tell the caller what happened.
 * @param ask.orgId the organization that the application named
 * @param ask.login the sign-in that led to the page
 */
export async function requestPasswordReset(
  deps: ForgottenDeps,
  { loginName, orgId, login }: { loginName: string; orgId?: string | undefined; login?: string | undefined },
): Promise<void> {
  const find = async () => {
    const user = { loginName, orgId, alsoUnverified: true };
    return textProblem(loginName, 500) ? undefined : (await findLogin(deps.pool, user))?.id;
  };
  await answerInTime(deps, find, (userId) => sendLink(deps, { userId, login }));
}

/**
 * For the page of a link that is no longer good: emails the user a new link, if there is something left to do. Does not
 * tell the caller what happened.
 * @param ask.isToVerify the link was to verify the address, which may be verified by now
 * @param ask.code of the link: strangers do not have it, so their requests do not count against whoever has
 */
export async function requestNewLink(
  deps: ForgottenDeps,
  ask: { userId: string; code: string; isToVerify: boolean },
): Promise<void> {
  const find = async () => (idProblem(ask.userId) ? undefined : ask.userId);
  await answerInTime(deps, find, () => sendLink(deps, ask));
}

/** A user who may get a link, and why. */
interface LinkRequest {
  userId: string;
  code?: string;
  isToVerify?: boolean;
  login?: string | undefined;
}

/**
 * Finds a user, and sends them something after the answer of the page, which so does the same for everybody: it finds
 * somebody or nobody with one statement, after a time that is longer than this usually takes.
 *
 * Duty: the caller answers as soon as this returns, without waiting for anything else.
 */
export async function answerInTime(
  { logger }: Pick<ForgottenDeps, 'logger'>,
  find: () => Promise<string | undefined>,
  send: (userId: string) => Promise<void>,
): Promise<void> {
  const time = sleep(ANSWER_AFTER_MS);
  const userId = await find();
  await time;
  if (userId === undefined) return;
  setImmediate(() => {
    send(userId).catch((error: unknown) => {
      // The log of errors is no place for somebody who got many mails.
      if (error instanceof ApiError && error.id === MAIL_LIMIT) return;
      logger.error({ userId, err: loggable(error) }, 'a mail that somebody asked for could not be queued');
    });
  });
}

const LINK_CODES = ['verify_email', ...PASSWORD_CODES] as const;

function sendLink(deps: ForgottenDeps, { userId, code, login, isToVerify = false }: LinkRequest): Promise<void> {
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (user && !(isToVerify && user.emailVerified)) await sendLinkOnce({ ...deps, db }, user, { code, login });
  });
}

/**
 * Emails a human who is not deactivated the link for their next step, unless that was done in the last minute, or the
 * link would be a way in for somebody who is left out of mail codes. The user's row is locked.
 * @param by.code see `requestNewLink` @param by.login the sign-in where somebody asked for it
 * @throws ApiError 429 MAIL-LIMIT
 */
export async function sendLinkOnce(
  { db, secrets, config }: Pick<ForgottenDeps, 'secrets' | 'config'> & { db: Db },
  user: User,
  { code = '', login = '' }: { code?: string | undefined; login?: string | undefined } = {},
): Promise<void> {
  if (user.kind !== 'human' || user.email === null || stateNow(user) === 'inactive') return;
  if (user.withoutMailCodes && mailFor(user) !== 'verify_email') return;
  // Their address has to be beyond doubt; an administrator helps else.
  if (!user.emailVerified && mailFor(user) !== 'verify_email' && (await isFactorLost(db, user.id))) return;
  if (await wasMailed(db, user.id, mailFor(user))) return;
  const holds = { userId: user.id, entered: code, purposes: LINK_CODES };
  const isHolder = code !== '' && (await renewsLink({ db, secrets }, holds));
  const limits = isHolder ? { ...config, RATE_LIMIT_MAILS: 0 } : config;
  await resetPassword({ db, secrets, config: limits }, user, {}, ANYBODY);
  if (login !== '') await rememberLogin(db, user.id, login);
}

/** Whether an email with a code that is still open was queued in the last minute. */
async function wasMailed(db: Db, userId: string, kind: LinkKind): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from mail_outbox m join codes c on c.id = m.code_id
     where m.user_id = $1 and m.kind = $2 and c.used_at is null
       and m.created_at > now() - interval '1 minute' limit 1`,
    [userId, kind],
  );
  return rowCount === 1;
}

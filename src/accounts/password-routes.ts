/**
 * `…/password` and `…/password_reset`.
 *
 * A bearer token is optional for the first one, as a valid code of the user is enough to set a password. Every other
 * call needs a caller; without one it is refused, and its body is read at most to look for a code.
 */
import { type Request, type Response, Router } from 'express';
import type { Caller } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { Config } from '../config.ts';
import { type Db, transaction } from '../db/pool.ts';
import { type BodyLimits, readJson } from '../http/json-body.ts';
import { badFields, parseBody } from '../http/parse-body.ts';
import { authenticateIfPresent, unauthenticated } from '../identity/authenticate.ts';
import type { LoginDeps } from '../identity/login/check.ts';
import { originOfCall } from '../identity/login/origin.ts';
import { requireOwnerProof } from '../identity/login/owner-proof.ts';
import { reachForChange } from '../users/reach.ts';
import { changedAnswer, requireHuman, requireVouching } from './credentials.ts';
import { resetPassword } from './password-reset.ts';
import { passwordBody, passwordResetBody } from './password-schema.ts';
import { setPassword } from './set-password.ts';
import { requireAllowedTemplate } from './url-template.ts';
import { setPasswordByCode } from './verification.ts';

export interface PasswordDeps extends LoginDeps {
  config: LoginDeps['config'] & Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS' | 'RESET_CODE_TTL_MS'>;
}

export function passwordRoutes(deps: PasswordDeps): Router {
  const router = Router();
  const caller = authenticateIfPresent(deps);
  router.post('/v2beta/users/:userId/password', caller, (req, res) => postPassword(deps, req, res));
  router.post('/v2beta/users/:userId/password_reset', caller, (req, res) => postReset(deps, req, res));
  return router;
}

async function postPassword(deps: PasswordDeps, req: Request, res: Response): Promise<void> {
  const body = await readForCode(req, res);
  if (body.holdsCode) return setByCode(deps, req, res, body.value);
  const caller = requireCaller(res);
  const userId = pathId(req, 'userId');
  const { user, standing } = await reachForChange(deps.pool, caller, 'setPassword', userId);
  if (body.problem) throw body.problem;
  const { newPassword, currentPassword, endSessions } = parseBody(passwordBody, body.value, 'PASSWORD-INVALID');
  if (standing === 'self' && currentPassword === undefined) {
    throw badFields('PASSWORD-INVALID', [{ field: 'currentPassword', description: 'is required' }]);
  }
  const origin = originOfCall(req, res);
  if (currentPassword === undefined) await requireOwnerProof(deps, caller, user, origin, undefined);
  const lock = async (db: Db) => (await reachForChange(db, caller, 'setPassword', userId, 'for update')).user;
  const current = currentPassword === undefined ? undefined : { password: currentPassword, ...origin };
  const by = { userId, editor: caller.userId, current, endSessions, lock };
  res.json({ details: await setPassword(deps, by, newPassword) });
}

/** Needs no caller: the code is the authorization. */
async function setByCode(deps: PasswordDeps, req: Request, res: Response, body: unknown): Promise<void> {
  const userId = pathId(req, 'userId');
  const { newPassword, verificationCode = '' } = parseBody(passwordBody, body, 'PASSWORD-INVALID');
  const editor = callerIfAny(res)?.userId ?? userId;
  res.json({ details: await setPasswordByCode(deps, { userId, code: verificationCode, editor }, newPassword) });
}

async function postReset(deps: PasswordDeps, req: Request, res: Response): Promise<void> {
  const caller = requireCaller(res);
  const userId = pathId(req, 'userId');
  const { user, standing } = await reachForChange(deps.pool, caller, 'resetPassword', userId);
  const input = parseBody(passwordResetBody, await readJson(req, res), 'PASSWORD-RESET-INVALID');
  requireVouching(standing, input);
  await requireAllowedTemplate(deps, user.orgId, 'sendLink.urlTemplate', input.sendLink?.urlTemplate);
  const answer = await transaction(deps.pool, async (db) => {
    const { user, standing } = await reachForChange(db, caller, 'resetPassword', userId, 'for update');
    requireHuman(user, 'PASSWORD');
    requireVouching(standing, input);
    return changedAnswer(user, await resetPassword({ ...deps, db }, user, input, caller.userId));
  });
  res.json(answer);
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

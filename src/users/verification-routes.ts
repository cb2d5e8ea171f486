/**
 * `…/email/verify` and `…/password` (contract section 3).
 *
 * A bearer token is optional here, as a password may be set by whoever holds the code of the user's mail. Everything
 * else needs a caller, and is refused before the body is looked at any further than for a code.
 */
import { type Request, type Response, Router } from 'express';
import { z } from 'zod';
import type { Pool } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { badFields, parseBody } from '../http/parse-body.ts';
import { authenticateIfPresent, unauthenticated } from '../identity/authenticate.ts';
import { type Caller, covers, hasOrgRole, permissionDenied, requireReach, USER_MANAGERS } from '../identity/caller.ts';
import { rightsOf } from '../identity/members/store.ts';
import { pathId } from '../identity/path-id.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Secrets } from '../secrets.ts';
import { bool, requiredText } from './fields.ts';
import { findUser, userNotFound } from './store.ts';
import { initialise, setPassword, verifyEmail } from './verification.ts';

export interface VerificationDeps {
  pool: Pool;
  secrets: Secrets;
  hasher: Hasher;
}

const verifyBody = z.object({ verificationCode: requiredText(200) });

const passwordBody = z
  .object({
    newPassword: z.object({ password: requiredText(200), changeRequired: bool().default(false) }),
    currentPassword: requiredText(200).optional(),
    verificationCode: requiredText(200).optional(),
  })
  .refine((b) => b.currentPassword === undefined || b.verificationCode === undefined, {
    path: ['verificationCode'],
    message: 'must not stand beside currentPassword',
  });

export function verificationRoutes(deps: VerificationDeps): Router {
  const router = Router();
  const caller = authenticateIfPresent(deps);
  router.post('/v2beta/users/:userId/email/verify', caller, (req, res) => postEmailVerify(deps, req, res));
  router.post('/v2beta/users/:userId/password', caller, (req, res) => postPassword(deps, req, res));
  return router;
}

async function postEmailVerify(deps: VerificationDeps, req: Request, res: Response): Promise<void> {
  const caller = requireCaller(res);
  const userId = pathId(req, 'userId');
  if (caller.userId !== userId) requireReach(caller, await findUser(deps.pool, userId), USER_MANAGERS, userNotFound);
  const { verificationCode: code } = parseBody(verifyBody, await readJson(req, res), 'EMAIL-VERIFY');
  res.json({ details: await verifyEmail(deps, { userId, code, editor: caller.userId }) });
}

async function postPassword(deps: VerificationDeps, req: Request, res: Response): Promise<void> {
  const body = await readForCode(req, res);
  if (body.holdsCode) return setByCode(deps, req, res, body.value);
  const caller = requireCaller(res);
  const userId = pathId(req, 'userId');
  const standing = await standingOf(deps.pool, caller, userId);
  if (body.problem) throw body.problem;
  const { newPassword, currentPassword } = parseBody(passwordBody, body.value, 'PASSWORD-INVALID');
  if (standing === 'self' && currentPassword === undefined) {
    throw badFields('PASSWORD-INVALID', [{ field: 'currentPassword', description: 'is required' }]);
  }
  res.json({ details: await setPassword(deps, { userId, editor: caller.userId, currentPassword }, newPassword) });
}

/** Needs no caller: the code says enough. */
async function setByCode(deps: VerificationDeps, req: Request, res: Response, body: unknown): Promise<void> {
  const userId = pathId(req, 'userId');
  const { newPassword, verificationCode = '' } = parseBody(passwordBody, body, 'PASSWORD-INVALID');
  const editor = callerIfAny(res)?.userId ?? userId;
  res.json({ details: await initialise(deps, { userId, code: verificationCode, editor }, newPassword) });
}

interface Body {
  value?: unknown;
  holdsCode: boolean;
  /** Why it cannot be read; told to callers only who may be told anything. */
  problem?: unknown;
}

async function readForCode(req: Request, res: Response): Promise<Body> {
  try {
    const value = await readJson(req, res);
    const { verificationCode, verification_code: alias } = (value ?? {}) as Record<string, unknown>;
    return { value, holdsCode: (verificationCode ?? alias ?? undefined) !== undefined };
  } catch (problem) {
    return { holdsCode: false, problem };
  }
}

/**
 * Whether callers set their own password or manage the user. Nobody sets the password of a user who may do more than
 * they may themselves: it would be a way to become that user.
 * @throws ApiError 403, or 404 to an IAM_OWNER
 */
async function standingOf(pool: Pool, caller: Caller, userId: string): Promise<'self' | 'manager'> {
  if (caller.userId === userId) return hasOrgRole(caller, caller.orgId, USER_MANAGERS) ? 'manager' : 'self';
  const user = requireReach(caller, await findUser(pool, userId), USER_MANAGERS, userNotFound);
  if (!covers(caller, await rightsOf(pool, user.id))) throw permissionDenied();
  return 'manager';
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

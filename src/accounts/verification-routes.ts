/**
 * `…/email` and `…/phone`: set, resend the code, verify.
 *
 * Each call checks the caller's access to the user before it reads the body, and again with the user's row locked.
 */
import { type Request, type Response, Router } from 'express';
import type { z } from 'zod';
import { callerOf } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { OperationId } from '../access/permissions.ts';
import type { Config } from '../config.ts';
import { transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { countTry } from '../http/limits/rate-limit.ts';
import { parseBody } from '../http/parse-body.ts';
import { isAttempt } from '../identity/login/attempts.ts';
import type { LoginDeps } from '../identity/login/check.ts';
import { originOfCall } from '../identity/login/origin.ts';
import { ownerProof, requireOwnerProof } from '../identity/login/owner-proof.ts';
import { reachForChange } from '../users/reach.ts';
import type { User } from '../users/store.ts';
import { type ContactDeps, changeEmail, resendEmailCode } from './change-email.ts';
import { changePhone, removePhone, resendPhoneCode } from './change-phone.ts';
import { codeBody, emailChange, emailResend, phoneChange, phoneResend } from './contact-schema.ts';
import { type Changed, changedAnswer, type Delivery, requireHuman, requireVouching } from './credentials.ts';
import { requireAllowedTemplate } from './url-template.ts';
import { type CodeHolder, verifyEmail, verifyPhone } from './verification.ts';

export interface VerificationDeps extends LoginDeps {
  config: LoginDeps['config'] & Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

const PATH = '/v2beta/users/:userId';

export function verificationRoutes(deps: VerificationDeps): Router {
  const router = Router();
  router.post(`${PATH}/email`, change(deps, 'setEmail', 'EMAIL', emailChange, changeEmail));
  router.post(`${PATH}/email/resend`, change(deps, 'resendEmailCode', 'EMAIL', emailResend, resendEmailCode));
  router.post(`${PATH}/email/verify`, verify(deps, 'verifyEmail', 'EMAIL', verifyEmail));
  router.post(`${PATH}/phone`, change(deps, 'setPhone', 'PHONE', phoneChange, changePhone));
  router.post(`${PATH}/phone/resend`, change(deps, 'resendPhoneCode', 'PHONE', phoneResend, resendPhoneCode));
  router.post(`${PATH}/phone/verify`, verify(deps, 'verifyPhone', 'PHONE', verifyPhone));
  router.delete(`${PATH}/phone`, change(deps, 'removePhone', 'PHONE', ownerProof, removePhone));
  return router;
}

/** Users prove for these that the account is their own. A code that is sent again goes where it went before. */
const NEED_PROOF: ReadonlySet<OperationId> = new Set(['setEmail', 'setPhone', 'removePhone']);

/** First part of the error ids. */
type Area = 'EMAIL' | 'PHONE';
type Change<I> = (deps: ContactDeps, user: User, input: I, editor: string) => Promise<Changed>;

interface Input extends Delivery {
  currentPassword?: string | undefined;
}

function change<S extends z.ZodType<Input>>(
  deps: VerificationDeps,
  operation: OperationId,
  area: Area,
  schema: S,
  work: Change<z.output<S>>,
) {
  return async (req: Request, res: Response): Promise<void> => {
    const caller = callerOf(res);
    const userId = pathId(req, 'userId');
    const { user, standing } = await reachForChange(deps.pool, caller, operation, userId);
    // Without the limit, users could make us send to any address or number as often as they like.
    if (userId === caller.userId && !isAttempt(req)) await countTry(req, res);
    const input = parseBody(schema, await readJson(req, res), `${area}-INVALID`);
    requireVouching(standing, input);
    await requireAllowedTemplate(deps, user.orgId, 'sendCode.urlTemplate', input.sendCode?.urlTemplate);
    const origin = originOfCall(req, res);
    if (NEED_PROOF.has(operation)) await requireOwnerProof(deps, caller, user, origin, input.currentPassword);
    const answer = await transaction(deps.pool, async (db) => {
      const { user, standing } = await reachForChange(db, caller, operation, userId, 'for update');
      requireHuman(user, area);
      requireVouching(standing, input);
      return changedAnswer(user, await work({ ...deps, db }, user, input, caller.userId));
    });
    res.json(answer);
  };
}

function verify(
  deps: VerificationDeps,
  operation: OperationId,
  area: Area,
  work: (deps: VerificationDeps, holder: CodeHolder) => Promise<unknown>,
) {
  return async (req: Request, res: Response): Promise<void> => {
    const caller = callerOf(res);
    const userId = pathId(req, 'userId');
    await reachForChange(deps.pool, caller, operation, userId);
    const { verificationCode: code } = parseBody(codeBody, await readJson(req, res), `${area}-VERIFY`);
    res.json({ details: await work(deps, { userId, code, editor: caller.userId }) });
  };
}

/** Routes to create and change human users. */
import { type Request, type Response, Router } from 'express';
import { type Caller, callerOf, may, orgsFor, permissionDenied, selectedOrg } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { Pool } from '../db/pool.ts';
import { LARGE_BODY, readJson } from '../http/json-body.ts';
import { countTry } from '../http/limits/rate-limit.ts';
import { parseBody } from '../http/parse-body.ts';
import { originOfCall } from '../identity/login/origin.ts';
import { requireOwnerProof } from '../identity/login/owner-proof.ts';
import { findOrg, findOrgByDomain, type Org, orgNotFound } from '../orgs/store.ts';
import { reachForChange, type Standing } from '../users/reach.ts';
import type { User } from '../users/store.ts';
import { type ChangeDeps, changeHuman, isNewEmail, isNewPhone, requireAllowed } from './change-human.ts';
import { createHuman, type HumanDeps } from './create-human.ts';
import { type HumanChange, humanChange, newHuman } from './human-schema.ts';
import { requireAllowedTemplate } from './url-template.ts';

export function humanRoutes(deps: ChangeDeps): Router {
  const router = Router();
  router.post('/v2beta/users/human', (req, res) => postHuman(deps, req, res));
  router.put('/v2beta/users/human/:userId', (req, res) => putHuman(deps, req, res));
  return router;
}

async function postHuman(deps: HumanDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  orgsFor(caller, 'createHumanUser');
  const body = parseBody(newHuman, await readJson(req, res, LARGE_BODY), 'USER-INVALID');
  const org = await targetOrg(deps.pool, caller, { orgId: selectedOrg(req, caller), ...body.organization });
  await requireAllowedTemplate(deps, org.id, 'email.sendCode.urlTemplate', body.email.sendCode?.urlTemplate);
  res.json(await createHuman(deps, org, body, caller.userId));
}

/**
 * The organization of the new user. The body takes precedence over the header, which is the default for calls that name
 * none.
 * @throws ApiError 403; for an IAM_OWNER 404 if the organization does not exist
 */
async function targetOrg(pool: Pool, caller: Caller, named: { orgId: string; orgDomain?: string }): Promise<Org> {
  const { orgId, orgDomain } = named;
  const org = orgDomain === undefined ? await findOrg(pool, orgId) : await findOrgByDomain(pool, orgDomain);
  if (org && may(caller, 'createHumanUser', org.id)) return org;
  throw caller.isIamOwner ? orgNotFound() : permissionDenied();
}

async function putHuman(deps: ChangeDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  const { user, standing } = await reachForChange(deps.pool, caller, 'updateHumanUser', userId);
  const body = parseBody(humanChange, await readJson(req, res), 'USER-INVALID');
  if (isTry(standing, body)) await countTry(req, res);
  requireAllowed(standing, user, body);
  await requireAllowedTemplate(deps, user.orgId, 'email.sendCode.urlTemplate', body.email?.sendCode?.urlTemplate);
  const origin = originOfCall(req, res);
  if (needsProof(user, standing, body)) await requireOwnerProof(deps, caller, user, origin, body.currentPassword);
  res.json(await changeHuman(deps, caller, { userId, standing, origin }, body));
}

/** Whether it tries a password or a code, or sends something to an address that no manager has confirmed. */
function isTry(standing: Standing, { email, phone, password, currentPassword }: HumanChange): boolean {
  if (standing === 'self') return Boolean(email ?? phone ?? password);
  if (currentPassword !== undefined) return true;
  return password?.currentPassword !== undefined || password?.verificationCode !== undefined;
}

/** `changeHuman` itself checks a password or a code that comes with a new password. */
function needsProof(user: User, standing: Standing, { email, phone, password }: HumanChange): boolean {
  if (password?.currentPassword !== undefined) return false;
  const setsOwn = standing === 'manager' && password !== undefined && password.verificationCode === undefined;
  return setsOwn || isNewEmail(user, email) || isNewPhone(user, phone);
}

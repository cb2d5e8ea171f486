/**
 * Routes for the password-age policy of an organization and of the instance.
 *
 * For the reset, the document specifies only that it returns `details`: it does so even if there was nothing to reset.
 */
import { type Request, type Response, Router } from 'express';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import type { OperationId } from '../access/permissions.ts';
import { type AppendedEvent, type Details, details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import { requireOrg } from '../orgs/store.ts';
import type { AgePolicy } from './age.ts';
import { agePolicyBody } from './schema.ts';
import {
  addAgePolicy,
  agePolicyOf,
  policyOwnerId,
  resetAgePolicy,
  type StoredAgePolicy,
  updateAgePolicy,
} from './store.ts';

const OF_ORG = '/management/v1/policies/password/age';
const DEFAULT = '/management/v1/policies/default/password/age';
const OF_INSTANCE = '/admin/v1/policies/password/age';

export function policyRoutes(deps: { pool: Pool }): Router {
  const { pool } = deps;
  const router = Router();
  router.get(OF_ORG, async (req, res) => {
    const orgId = await permittedOrg(pool, 'getPasswordAgePolicy', req, res);
    res.json({ policy: policyView(await agePolicyOf(pool, orgId)) });
  });
  router.post(OF_ORG, async (req, res) => {
    const orgId = await permittedOrg(pool, 'addPasswordAgePolicy', req, res);
    const policy = await readPolicy(req, res);
    const event = await transaction(pool, (db) => addAgePolicy(db, orgId, policy, callerOf(res).userId));
    res.json({ details: eventDetails(orgId, event) });
  });
  router.put(OF_ORG, async (req, res) => {
    const orgId = await permittedOrg(pool, 'updatePasswordAgePolicy', req, res);
    const policy = await readPolicy(req, res);
    const stored = await transaction(pool, (db) => updateAgePolicy(db, orgId, policy, callerOf(res).userId));
    res.json({ details: policyDetails(stored) });
  });
  router.delete(OF_ORG, async (req, res) => {
    const orgId = await permittedOrg(pool, 'resetPasswordAgePolicy', req, res);
    const event = await transaction(pool, (db) => resetAgePolicy(db, orgId, callerOf(res).userId));
    res.json({ details: eventDetails(orgId, event) });
  });
  router.get(DEFAULT, async (req, res) => {
    await permittedOrg(pool, 'getDefaultPasswordAgePolicy', req, res);
    res.json({ policy: policyView(await agePolicyOf(pool, null)) });
  });
  return router.use(instanceRoutes(pool));
}

function instanceRoutes(pool: Pool): Router {
  const router = Router();
  router.get(OF_INSTANCE, async (_req, res) => {
    requirePermission(callerOf(res), 'getInstancePasswordAgePolicy');
    res.json({ policy: policyView(await agePolicyOf(pool, null)) });
  });
  router.put(OF_INSTANCE, async (req, res) => {
    requirePermission(callerOf(res), 'updateDefaultPasswordAgePolicy');
    const policy = await readPolicy(req, res);
    const stored = await transaction(pool, (db) => updateAgePolicy(db, null, policy, callerOf(res).userId));
    res.json({ details: policyDetails(stored) });
  });
  return router;
}

/**
 * The organization of the request, if the caller has permission.
 * @throws ApiError 403, 404 when it does not exist
 */
async function permittedOrg(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<string> {
  const caller = callerOf(res);
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, operation, orgId);
  return (await requireOrg(pool, orgId)).id;
}

async function readPolicy(req: Request, res: Response): Promise<AgePolicy> {
  return parseBody(agePolicyBody, await readJson(req, res), 'POLICY-AGE-INVALID');
}

function policyView(policy: StoredAgePolicy): Record<string, unknown> {
  const { maxAgeDays, expireWarnDays, orgId } = policy;
  return { details: policyDetails(policy), maxAgeDays, expireWarnDays, isDefault: orgId === null };
}

function policyDetails(policy: StoredAgePolicy): Details {
  const { sequence, createdAt, changedAt, orgId } = policy;
  return details({ sequence, createdAt, changedAt, resourceOwner: policyOwnerId(orgId) });
}

function eventDetails(orgId: string, { sequence, createdAt }: AppendedEvent): Details {
  return details({ sequence, createdAt, changedAt: createdAt, resourceOwner: orgId });
}

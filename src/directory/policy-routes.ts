/**
 * Routes for the policies of an organization and of the instance: the same operations for each kind.
 *
 * For the reset, the document specifies only that it returns `details`: it does so even if there was nothing to reset.
 */
import { type Request, type Response, Router } from 'express';
import { callerOf, type OperationId, requirePermission, selectedOrg } from '../contract/permissions.ts';
import { AGE, COMPLEXITY, LOGIN, type PolicyKind } from '../contract/policies.ts';
import { type AppendedEvent, type Details, details } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { parseBody, readJson } from '../platform/http/request-body.ts';
import { requireOrg } from './organizations.ts';
import { addPolicy, type PolicyRow, policyOf, policyOwnerId, resetPolicy, updatePolicy } from './policies.ts';

/** Routes of all kinds of policies. */
export function policyRoutes({ pool }: { pool: Pool }): Router {
  return Router().use(routesOf(pool, AGE)).use(routesOf(pool, COMPLEXITY)).use(routesOf(pool, LOGIN));
}

function routesOf<P extends object>(pool: Pool, kind: PolicyKind<P>): Router {
  const { operations } = kind;
  const path = `/management/v1/policies/${kind.path}`;
  const router = Router();
  router.get(path, async (req, res) => {
    const orgId = await permittedOrg(pool, operations.get, req, res);
    res.json({ policy: policyView(await policyOf(pool, kind, orgId)) });
  });
  router.post(path, async (req, res) => {
    const orgId = await permittedOrg(pool, operations.add, req, res);
    const policy = await readPolicy(kind, req, res);
    const event = await transaction(pool, (db) => addPolicy(db, kind, orgId, policy, callerOf(res).userId));
    res.json({ details: eventDetails(orgId, event) });
  });
  router.put(path, async (req, res) => {
    const orgId = await permittedOrg(pool, operations.update, req, res);
    const policy = await readPolicy(kind, req, res);
    const stored = await transaction(pool, (db) => updatePolicy(db, kind, orgId, policy, callerOf(res).userId));
    res.json({ details: policyDetails(stored) });
  });
  router.delete(path, async (req, res) => {
    const orgId = await permittedOrg(pool, operations.reset, req, res);
    const event = await transaction(pool, (db) => resetPolicy(db, kind, orgId, callerOf(res).userId));
    res.json({ details: eventDetails(orgId, event) });
  });
  router.get(`/management/v1/policies/default/${kind.path}`, async (req, res) => {
    await permittedOrg(pool, operations.getDefault, req, res);
    res.json({ policy: policyView(await policyOf(pool, kind, null)) });
  });
  return router.use(instanceRoutes(pool, kind));
}

function instanceRoutes<P extends object>(pool: Pool, kind: PolicyKind<P>): Router {
  const path = `/admin/v1/policies/${kind.path}`;
  const router = Router();
  router.get(path, async (_req, res) => {
    requirePermission(callerOf(res), kind.operations.getOfInstance);
    res.json({ policy: policyView(await policyOf(pool, kind, null)) });
  });
  router.put(path, async (req, res) => {
    requirePermission(callerOf(res), kind.operations.updateOfInstance);
    const policy = await readPolicy(kind, req, res);
    const stored = await transaction(pool, (db) => updatePolicy(db, kind, null, policy, callerOf(res).userId));
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

async function readPolicy<P>({ body, area }: PolicyKind<P>, req: Request, res: Response): Promise<P> {
  return parseBody(body, await readJson(req, res), `${area}-INVALID`);
}

function policyView<P extends object>(policy: P & PolicyRow): Record<string, unknown> {
  const { orgId, sequence: _, createdAt: __, changedAt: ___, ...fields } = policy;
  return { details: policyDetails(policy), ...fields, isDefault: orgId === null };
}

function policyDetails({ sequence, createdAt, changedAt, orgId }: PolicyRow): Details {
  return details({ sequence, createdAt, changedAt, resourceOwner: policyOwnerId(orgId) });
}

function eventDetails(orgId: string, { sequence, createdAt }: AppendedEvent): Details {
  return details({ sequence, createdAt, changedAt: createdAt, resourceOwner: orgId });
}

/**
 * Routes for the policies of an organization and of the instance: the same operations for each kind.
 *
 * For the reset, the document specifies only that it returns `details`: it does so even if there was nothing to reset.
 */

import { Router } from 'express';
import { AGE, COMPLEXITY, LOGIN, operationsOf, type PolicyKind } from '../contract/policies.ts';
import { instance, serve } from '../contract/serve.ts';
import { details, newDetails } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { changeableOrg, existingOrg } from './finders.ts';
import { addPolicy, type PolicyRow, policyOf, policyOwnerId, resetPolicy, updatePolicy } from './policies.ts';

/** Routes of all kinds of policies. */
export function policyRoutes({ pool }: { pool: Pool }): Router {
  return Router().use(routesOf(pool, AGE)).use(routesOf(pool, COMPLEXITY)).use(routesOf(pool, LOGIN));
}

function routesOf<P extends object>(pool: Pool, kind: PolicyKind<P>): Router {
  const router = Router();
  const org = existingOrg(pool);
  const changeable = changeableOrg(pool);
  const operations = operationsOf(kind);
  const read = async (orgId: string | null) => ({ policy: policyView(await policyOf(pool, kind, orgId)) });
  serve(router, operations.get, org, ({ target }) => read(target.id));
  serve(router, operations.getDefault, org, () => read(null));
  serve(router, operations.getOfInstance, instance, () => read(null));
  serve(router, operations.add, changeable, async ({ caller, target: { id }, body }) => {
    const event = await transaction(pool, (db) => addPolicy(db, kind, id, body as P, caller.userId));
    return { details: newDetails(event, id) };
  });
  serve(router, operations.update, changeable, async ({ caller, target: { id }, body }) => ({
    details: policyDetails(await transaction(pool, (db) => updatePolicy(db, kind, id, body as P, caller.userId))),
  }));
  serve(router, operations.reset, changeable, async ({ caller, target: { id } }) => ({
    details: newDetails(await transaction(pool, (db) => resetPolicy(db, kind, id, caller.userId)), id),
  }));
  serve(router, operations.updateOfInstance, instance, async ({ caller, body }) => ({
    details: policyDetails(await transaction(pool, (db) => updatePolicy(db, kind, null, body as P, caller.userId))),
  }));
  return router;
}

function policyView<P extends object>(policy: P & PolicyRow) {
  const { orgId, sequence: _, createdAt: __, changedAt: ___, ...fields } = policy;
  return { details: policyDetails(policy), ...fields, isDefault: orgId === null };
}

function policyDetails({ sequence, createdAt, changedAt, orgId }: PolicyRow) {
  return details({ sequence, createdAt, changedAt, resourceOwner: policyOwnerId(orgId) });
}

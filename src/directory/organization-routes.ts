/**
 * Routes of organizations: create, get, search, limit, deactivate and delete them, and set their allowed URLs, sign-in
 * names and the secret that signs their webhooks.
 */

import { Router } from 'express';
import { organizationLimitOperations as limits } from '../contract/organization-limits.ts';
import { organizationStateOperations as states } from '../contract/organization-states.ts';
import { type ORG_STATES, orgOperations as orgs } from '../contract/organizations.ts';
import { anOrg, instance, serve } from '../contract/serve.ts';
import { setWebhookSecret } from '../messages/webhooks/signature.ts';
import type { Config } from '../platform/config.ts';
import { type AppendedEvent, changedAnswer, details, newDetails } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { searchResult } from '../platform/http/answers.ts';
import { newId } from '../platform/ids.ts';
import { changeableOrg, existingOrg } from './finders.ts';
import { limitsOf, setLimits, usageOf } from './organization-limits.ts';
import { deleteOrg, previewRemoval, REMOVAL_MS, restoreOrg } from './organization-removal.ts';
import { deactivateOrg, reactivateOrg } from './organization-states.ts';
import {
  allowedUrlsOf,
  insertOrg,
  type Org,
  requireOrg,
  searchOrgs,
  setAllowedUrls,
  setSignInNames,
  signInNamesOf,
} from './organizations.ts';

/** Routes of organizations, except webhooks. */
export function orgRoutes(deps: { pool: Pool; config: Pick<Config, 'baseUrl'> }): Router {
  const { pool } = deps;
  const router = Router();
  serve(router, orgs.createOrg, instance, async ({ caller, body: { orgId, ...org } }) => {
    const id = orgId ?? newId();
    const event = await transaction(pool, (db) => insertOrg(db, { ...org, id }, deps.config.baseUrl, caller.userId));
    return { id, details: newDetails(event, id) };
  });
  serve(router, orgs.getOrg, instance, async ({ params }) => ({ org: orgView(await requireOrg(pool, params.orgId)) }));
  serve(router, orgs.searchOrgs, instance, async ({ body: { query, queries } }) => {
    const { total, orgs } = await searchOrgs(pool, queries, query);
    return searchResult(total, orgs.map(orgView));
  });
  serve(router, orgs.getMyOrg, existingOrg(pool), ({ target }) => ({ org: orgView(target) }));
  return router.use(stateRoutes(deps)).use(limitRoutes(deps)).use(settingRoutes(deps));
}

/** What an IAM_OWNER does to an organization as a whole. */
function stateRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const change =
    (act: (db: Db, orgId: string, editor: string) => Promise<AppendedEvent>) =>
    async ({ caller, target: orgId }: { caller: { userId: string }; target: string }) =>
      changedAnswer(await transaction(pool, (db) => act(db, orgId, caller.userId)), orgId);
  serve(router, states.deactivateOrg, anOrg, change(deactivateOrg));
  serve(router, states.reactivateOrg, anOrg, change(reactivateOrg));
  serve(router, states.deleteOrg, anOrg, change(deleteOrg));
  serve(router, states.undeleteOrg, anOrg, change(restoreOrg));
  serve(router, states.previewOrgRemoval, existingOrg(pool), ({ target }) => previewRemoval(pool, target.id));
  return router;
}

/** What an organization may use at most: an IAM_OWNER sets it, and its owners see it. */
function limitRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  serve(router, limits.getOrgLimits, existingOrg(pool), async ({ target: org }) => {
    const limits = await limitsOf(pool, org.id);
    return { details: orgDetails(org), ...limits, usage: await usageOf(pool, org.id, limits) };
  });
  serve(router, limits.setOrgLimits, changeableOrg(pool), async ({ caller, target: { id }, body }) =>
    changedAnswer(await transaction(pool, (db) => setLimits(db, id, body, caller.userId)), id),
  );
  return router;
}

/** Where the links in emails of an organization may lead, and the names that its users sign in with. */
function settingRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const changeable = changeableOrg(pool);
  serve(router, orgs.getAllowedUrls, existingOrg(pool), async ({ target: org }) => ({
    details: orgDetails(org),
    allowedUrls: await allowedUrlsOf(pool, org.id),
  }));
  serve(router, orgs.setAllowedUrls, changeable, ({ caller, target: { id }, body }) =>
    changed(pool, id, (db) => setAllowedUrls(db, id, body.allowedUrls, caller.userId)),
  );
  serve(router, orgs.getSignInNames, existingOrg(pool), async ({ target: org }) => ({
    details: orgDetails(org),
    signInNames: [...(await signInNamesOf(pool, org.id))],
  }));
  serve(router, orgs.setSignInNames, changeable, ({ caller, target: { id }, body }) =>
    changed(pool, id, (db) => setSignInNames(db, id, body.signInNames, caller.userId)),
  );
  return router;
}

async function changed(pool: Pool, orgId: string, change: (db: Db) => Promise<AppendedEvent>) {
  return changedAnswer(await transaction(pool, change), orgId);
}

function orgDetails({ id, sequence, changedAt }: Org) {
  return details({ sequence, changedAt, resourceOwner: id });
}

function orgView(org: Org) {
  return {
    id: org.id,
    details: details({ ...org, resourceOwner: org.id }),
    state: stateOf(org),
    name: org.name,
    primaryDomain: org.domain,
    ...(org.removedAt === null ? {} : { removalDate: new Date(org.removedAt.getTime() + REMOVAL_MS).toISOString() }),
  };
}

function stateOf({ inactiveSince, removedAt }: Org): (typeof ORG_STATES)[number] {
  if (removedAt !== null) return 'ORG_STATE_REMOVED';
  return inactiveSince === null ? 'ORG_STATE_ACTIVE' : 'ORG_STATE_INACTIVE';
}

/** The route for the secret that signs webhooks of an organization. */
export function webhookRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  const router = Router();
  serve(router, orgs.setWebhookSecret, changeableOrg(pool), async ({ caller, target: { id } }) => {
    const { secret, event } = await transaction(pool, (db) => setWebhookSecret(db, secrets, id, caller.userId));
    return { secret, ...changedAnswer(event, id) };
  });
  return router;
}

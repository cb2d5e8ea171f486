/**
 * Routes of organizations: create, get, search, limit, deactivate and delete them, and set their allowed URLs, sign-in
 * names and the secret that signs their webhooks.
 */
import { type Request, type Response, Router } from 'express';
import { orgLimitsBody } from '../contract/organization-limits.ts';
import { allowedUrlsBody, newOrg, type ORG_STATES, orgSearch, signInNamesBody } from '../contract/organizations.ts';
import { type Caller, callerOf, type OperationId, requirePermission, selectedOrg } from '../contract/permissions.ts';
import { setWebhookSecret } from '../messages/webhooks/signature.ts';
import type { Config } from '../platform/config.ts';
import { type AppendedEvent, details } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { searchResult } from '../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../platform/http/request-body.ts';
import { newId } from '../platform/ids.ts';
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

/** The path `/admin/v1/orgs/:orgId`, except the actions `_setup` and `_search`. */
const ONE_ORG = /^\/admin\/v1\/orgs\/(?!_(?:setup|search)\/?$)(?<orgId>[^/]+)\/?$/i;

/** Routes of organizations, except webhooks. */
export function orgRoutes(deps: { pool: Pool; config: Pick<Config, 'baseUrl'> }): Router {
  const { pool } = deps;
  const router = Router();
  router.post('/management/v1/orgs', async (req, res) => {
    requirePermission(callerOf(res), 'createOrg');
    const { orgId, ...org } = parseBody(newOrg, await readJson(req, res), 'ORG-INVALID');
    const id = orgId ?? newId();
    const editor = callerOf(res).userId;
    const event = await transaction(pool, (db) => insertOrg(db, { ...org, id }, deps.config.baseUrl, editor));
    res.json({ id, details: details({ ...event, changedAt: event.createdAt, resourceOwner: id }) });
  });
  router.get(ONE_ORG, async (req, res) => {
    requirePermission(callerOf(res), 'getOrg');
    res.json({ org: orgView(await requireOrg(pool, pathId(req, 'orgId'))) });
  });
  router.post('/admin/v1/orgs/_search', async (req, res) => {
    requirePermission(callerOf(res), 'searchOrgs');
    const { query, queries } = parseBody(orgSearch, await readJson(req, res), 'ORG-SEARCH');
    const { total, orgs } = await searchOrgs(pool, queries, query);
    res.json(searchResult(total, orgs.map(orgView)));
  });
  router.get('/management/v1/orgs/me', async (req, res) => {
    const orgId = permittedOrg(req, callerOf(res), 'getMyOrg');
    res.json({ org: orgView(await requireOrg(pool, orgId)) });
  });
  return router.use(stateRoutes(deps)).use(limitRoutes(deps)).use(allowedUrlRoutes(deps)).use(signInNameRoutes(deps));
}

/** What an IAM_OWNER does to an organization as a whole. */
function stateRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const change =
    (operation: OperationId, act: (db: Db, orgId: string, editor: string) => Promise<AppendedEvent>) =>
    async (req: Request, res: Response) => {
      const caller = callerOf(res);
      requirePermission(caller, operation);
      const orgId = selectedOrg(req, caller);
      const { sequence, createdAt: changedAt } = await transaction(pool, (db) => act(db, orgId, caller.userId));
      res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
    };
  router.post('/management/v1/orgs/me/_deactivate', change('deactivateOrg', deactivateOrg));
  router.post('/management/v1/orgs/me/_reactivate', change('reactivateOrg', reactivateOrg));
  router.delete('/management/v1/orgs/me', change('deleteOrg', deleteOrg));
  router.post('/management/v1/orgs/me/_undelete', change('undeleteOrg', restoreOrg));
  router.get('/management/v1/orgs/me/removal_preview', async (req, res) => {
    const caller = callerOf(res);
    requirePermission(caller, 'previewOrgRemoval');
    const { id } = await requireOrg(pool, selectedOrg(req, caller));
    res.json(await previewRemoval(pool, id));
  });
  return router;
}

/** What an organization may use at most: an IAM_OWNER sets it, and its owners see it. */
const LIMITS = '/management/v1/orgs/me/limits';

function limitRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(LIMITS, async (req, res) => {
    const orgId = permittedOrg(req, callerOf(res), 'getOrgLimits');
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    res.json({
      details: details({ sequence, changedAt, resourceOwner: orgId }),
      ...(await limitsOf(pool, orgId)),
      usage: await usageOf(pool, orgId),
    });
  });
  router.put(LIMITS, async (req, res) => {
    const caller = callerOf(res);
    requirePermission(caller, 'setOrgLimits');
    const orgId = selectedOrg(req, caller);
    const limits = parseBody(orgLimitsBody, await readJson(req, res), 'ORG-LIMITS');
    const change = (db: Db) => setLimits(db, orgId, limits, caller.userId);
    const { sequence, createdAt: changedAt } = await transaction(pool, change);
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

function orgView(org: Org): Record<string, unknown> {
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

/** Where the links in emails of an organization may lead. */
const ALLOWED_URLS = '/management/v1/orgs/me/allowed_urls';

function allowedUrlRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(ALLOWED_URLS, async (req, res) => {
    const orgId = permittedOrg(req, callerOf(res), 'getAllowedUrls');
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    res.json({
      details: details({ sequence, changedAt, resourceOwner: orgId }),
      allowedUrls: await allowedUrlsOf(pool, orgId),
    });
  });
  router.put(ALLOWED_URLS, async (req, res) => {
    const caller = callerOf(res);
    const orgId = permittedOrg(req, caller, 'setAllowedUrls');
    const { allowedUrls } = parseBody(allowedUrlsBody, await readJson(req, res), 'ALLOWED-URLS');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setAllowedUrls(db, orgId, allowedUrls, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

/** The names that the users of an organization sign in with; `users/store.ts` says to whom a name belongs. */
const SIGN_IN_NAMES = '/management/v1/orgs/me/sign_in_names';

function signInNameRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(SIGN_IN_NAMES, async (req, res) => {
    const orgId = permittedOrg(req, callerOf(res), 'getSignInNames');
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    const signInNames = await signInNamesOf(pool, orgId);
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }), signInNames });
  });
  router.put(SIGN_IN_NAMES, async (req, res) => {
    const caller = callerOf(res);
    const orgId = permittedOrg(req, caller, 'setSignInNames');
    const { signInNames } = parseBody(signInNamesBody, await readJson(req, res), 'SIGN-IN-NAMES');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setSignInNames(db, orgId, signInNames, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

/** The organization that the request selects. @throws ApiError 403 unless the caller may do `operation` on it */
function permittedOrg(req: Request, caller: Caller, operation: OperationId): string {
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, operation, orgId);
  return orgId;
}

/** The route for the secret that signs webhooks of an organization. */
export function webhookRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  return Router().put('/management/v1/orgs/me/webhook_secret', async (req, res) => {
    const caller = callerOf(res);
    const orgId = permittedOrg(req, caller, 'setWebhookSecret');
    const { secret, event } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setWebhookSecret(db, secrets, orgId, caller.userId);
    });
    const { sequence, createdAt: changedAt } = event;
    res.json({ secret, details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
}

/** Organization routes: create, get, search. */
import { Router } from 'express';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { Config } from '../config.ts';
import { details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { searchResult } from '../http/paging.ts';
import { parseBody } from '../http/parse-body.ts';
import { newId } from '../ids.ts';
import { allowedUrlRoutes } from './allowed-url-routes.ts';
import { newOrg, orgSearch } from './schema.ts';
import { signInNameRoutes } from './sign-in-names.ts';
import { insertOrg, type Org, requireOrg, searchOrgs } from './store.ts';

/** `/admin/v1/orgs/:orgId`, except the actions `_setup` and `_search`. */
const ONE_ORG = /^\/admin\/v1\/orgs\/(?!_(?:setup|search)\/?$)(?<orgId>[^/]+)\/?$/i;

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
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'getMyOrg', orgId);
    res.json({ org: orgView(await requireOrg(pool, orgId)) });
  });
  return router.use(allowedUrlRoutes(deps)).use(signInNameRoutes(deps));
}

function orgView(org: Org): Record<string, unknown> {
  return {
    id: org.id,
    details: details({ ...org, resourceOwner: org.id }),
    state: 'ORG_STATE_ACTIVE',
    name: org.name,
    primaryDomain: org.domain,
  };
}

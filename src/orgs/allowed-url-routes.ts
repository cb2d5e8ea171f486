/** `GET, PUT /management/v1/orgs/me/allowed_urls`: where the links in an organization's emails may lead. */
import { Router } from 'express';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import { details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import { allowedUrlsOf, setAllowedUrls } from './allowed-urls.ts';
import { allowedUrlsBody } from './schema.ts';
import { requireOrg } from './store.ts';

const PATH = '/management/v1/orgs/me/allowed_urls';

export function allowedUrlRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'getAllowedUrls', orgId);
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    res.json({
      details: details({ sequence, changedAt, resourceOwner: orgId }),
      allowedUrls: await allowedUrlsOf(pool, orgId),
    });
  });
  router.put(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'setAllowedUrls', orgId);
    const { allowedUrls } = parseBody(allowedUrlsBody, await readJson(req, res), 'ALLOWED-URLS');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setAllowedUrls(db, orgId, allowedUrls, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

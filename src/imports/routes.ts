/**
 * The HTTP routes of imports: the import of one user, and the bulk import with its actions.
 */
import { Router } from 'express';
import type { Logger } from 'pino';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import type { Reads } from '../db/reads.ts';
import { LARGE_BODY, readJson } from '../http/json-body.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { ImportDeps } from './deps.ts';
import { draftRoutes } from './draft/routes.ts';
import { actionRoutes } from './http/action-routes.ts';
import { bulkRoutes } from './http/bulk-routes.ts';
import { fixRoutes } from './http/fix-routes.ts';
import { noQuery } from './http/queries.ts';
import { readRoutes } from './http/read-routes.ts';
import { reportRoutes } from './http/report-routes.ts';
import { singles } from './http/request-limits.ts';
import { keyedRequest } from './intake/idempotency.ts';
import { readPepper } from './intake/pepper.ts';
import { queryOf } from './query.ts';
import { importOne } from './single/single.ts';
import type { ImportSignal } from './status/signal.ts';

/** Mount after authentication and before any body parser: the bulk import reads its body as a stream. */
export function importRoutes(
  deps: ImportDeps & { reads: Reads; signal: ImportSignal; hasher: Hasher; logger: Logger },
): Router {
  const router = Router();
  router.post('/management/v1/users/human/_import', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'importHumanUser', orgId);
    // What a bulk import takes, such as `dryRun`, must not be ignored here.
    queryOf(noQuery, req);
    const pepper = readPepper(req);
    const rest = pepper === undefined ? orgId : JSON.stringify([orgId, pepper]);
    const keyed = keyedRequest(req, deps.secrets, caller.userId, '/management/v1/users/human/_import', rest);
    const body = await readJson(req, res, LARGE_BODY);
    if (Buffer.isBuffer(req.body)) keyed?.hash.update(req.body); // the bytes of the body
    const release = singles.take(caller);
    res.json(await importOne(deps, caller, orgId, body, { keyed, pepper }).finally(release));
  });
  return router
    .use(bulkRoutes(deps))
    .use(draftRoutes(deps))
    .use(readRoutes(deps))
    .use(reportRoutes(deps))
    .use(actionRoutes(deps))
    .use(fixRoutes(deps));
}

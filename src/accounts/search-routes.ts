/**
 * The search of users, and its older form for one organization.
 *
 * Guarantee: only users of organizations on which the caller has a role are found and counted. To search in another one
 * is 403, whether or not it exists.
 */
import { type Request, type Response, Router } from 'express';
import { type Caller, callerOf, namedOrg, orgsFor, requirePermission, selectedOrg } from '../access/caller.ts';
import type { OperationId } from '../access/permissions.ts';
import type { Pool } from '../db/pool.ts';
import type { Reads } from '../db/reads.ts';
import { LARGE_BODY, readJson } from '../http/json-body.ts';
import { searchResult } from '../http/paging.ts';
import { parseBody } from '../http/parse-body.ts';
import { requireOrg } from '../orgs/store.ts';
import { userSearch } from '../users/schema.ts';
import { searchUsers } from '../users/search/search.ts';
import type { User } from '../users/store.ts';
import { userDetails, userView } from '../users/view.ts';
import { userViewV1 } from '../users/view-v1.ts';

export function searchRoutes({ pool, reads }: { pool: Pool; reads: Reads }): Router {
  const router = Router();
  router.post('/v2beta/users', async (req, res) => {
    const orgIds = await searchedOrgs(pool, callerOf(res), namedOrg(req));
    await search(reads, 'searchUsers', orgIds, (user) => ({ details: userDetails(user), ...userView(user) }), req, res);
  });
  router.post('/management/v1/users/_search', async (req, res) => {
    const caller = callerOf(res);
    const orgIds = [await oneOrg(pool, caller, 'searchOrgUsers', selectedOrg(req, caller))];
    await search(reads, 'searchOrgUsers', orgIds, userViewV1, req, res);
  });
  return router;
}

async function search(
  reads: Reads,
  operation: OperationId,
  orgIds: string[] | undefined,
  view: (user: User) => Record<string, unknown>,
  req: Request,
  res: Response,
): Promise<void> {
  const { query: page, queries } = parseBody(userSearch, await readJson(req, res, LARGE_BODY), 'USER-SEARCH');
  for (const { organizationIdQuery } of queries) {
    if (organizationIdQuery) requirePermission(callerOf(res), operation, organizationIdQuery.organizationId);
  }
  const { total, isEstimate, users, nextPageToken } = await reads.run((db) =>
    searchUsers(db, { queries, page, orgIds }),
  );
  const { details, result } = searchResult(total, users.map(view));
  res.json({ details: { ...details, ...(isEstimate ? { totalIsEstimate: true } : {}) }, result, nextPageToken });
}

/**
 * Where to search: in the organization that the request names, else in all on which the caller has a role.
 * @returns undefined for every organization
 * @throws ApiError 403; for an IAM_OWNER 404 if the named organization does not exist
 */
async function searchedOrgs(pool: Pool, caller: Caller, named: string | undefined): Promise<string[] | undefined> {
  if (named === undefined) return orgsFor(caller, 'searchUsers');
  return [await oneOrg(pool, caller, 'searchUsers', named)];
}

/** The same for one organization. */
async function oneOrg(pool: Pool, caller: Caller, operation: OperationId, orgId: string): Promise<string> {
  requirePermission(caller, operation, orgId);
  return (await requireOrg(pool, orgId)).id;
}

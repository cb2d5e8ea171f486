/**
 * The search of users.
 *
 * Guarantee: only users of organizations on which the caller has a role are found and counted. To search in another one
 * is 403, whether or not it exists.
 */
import { type Request, type Response, Router } from 'express';
import { type Caller, callerOf, namedOrg, orgsFor, requirePermission } from '../access/caller.ts';
import type { Pool } from '../db/pool.ts';
import { LARGE_BODY, readJson } from '../http/json-body.ts';
import { searchResult } from '../http/paging.ts';
import { parseBody } from '../http/parse-body.ts';
import { requireOrg } from '../orgs/store.ts';
import { userSearch } from '../users/schema.ts';
import { searchUsers } from '../users/search.ts';
import { userDetails, userView } from '../users/view.ts';

export function searchRoutes({ pool }: { pool: Pool }): Router {
  return Router().post('/v2beta/users', (req, res) => search(pool, req, res));
}

async function search(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const orgIds = await searchedOrgs(pool, caller, namedOrg(req));
  const { query: page, queries } = parseBody(userSearch, await readJson(req, res, LARGE_BODY), 'USER-SEARCH');
  for (const { organizationIdQuery } of queries) {
    if (organizationIdQuery) requirePermission(caller, 'searchUsers', organizationIdQuery.organizationId);
  }
  const { total, users } = await searchUsers(pool, { queries, page, orgIds });
  res.json(
    searchResult(
      total,
      users.map((user) => ({ details: userDetails(user), ...userView(user) })),
    ),
  );
}

/**
 * Where to search: in the organization that the request names, else in all on which the caller has a role.
 * @returns undefined for every organization
 * @throws ApiError 403; for an IAM_OWNER 404 if the named organization does not exist
 */
async function searchedOrgs(pool: Pool, caller: Caller, named: string | undefined): Promise<string[] | undefined> {
  if (named === undefined) return orgsFor(caller, 'searchUsers');
  requirePermission(caller, 'searchUsers', named);
  return [(await requireOrg(pool, named)).id];
}

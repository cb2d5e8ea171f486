/** Users: read, search, delete, and machine users. Humans come in through set-up and imports. */
import { type Request, type Response, Router } from 'express';
import { details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { searchResult } from '../http/paging.ts';
import { parseBody } from '../http/parse-body.ts';
import {
  callerOf,
  hasAnyRole,
  ORG_ROLES,
  permissionDenied,
  requireIamOwner,
  requireOrgRole,
  requireReach,
  selectedOrg,
  USER_MANAGERS,
} from '../identity/caller.ts';
import { keepAnIamOwner, rightsOf } from '../identity/members/store.ts';
import { pathId } from '../identity/path-id.ts';
import { newId } from '../ids.ts';
import { requireOrg } from '../orgs/store.ts';
import { newMachine, userSearch } from './schema.ts';
import { searchUsers } from './search.ts';
import { deleteUser, findUser, insertUser, linksOf, metadataOf, type User, userNotFound } from './store.ts';
import { ACCESS_TOKEN_TYPES, userDetails, userView } from './view.ts';

export function userRoutes(deps: { pool: Pool }): Router {
  const { pool } = deps;
  const router = Router();
  router.get('/v2beta/users/:userId', async (req, res) => {
    const user = await readableUser(pool, req, res);
    res.json({ details: userDetails(user), user: userView(user) });
  });
  router.get('/v2beta/users/:userId/metadata', async (req, res) => {
    const metadata = await metadataOf(pool, (await readableUser(pool, req, res)).id);
    res.json(searchResult(metadata.length, metadata));
  });
  router.get('/v2beta/users/:userId/links', async (req, res) => {
    const links = await linksOf(pool, (await readableUser(pool, req, res)).id);
    res.json(searchResult(links.length, links));
  });
  router.post('/v2beta/users', (req, res) => search(pool, req, res));
  router.delete('/v2beta/users/:userId', (req, res) => remove(pool, req, res));
  router.post('/management/v1/users/machine', (req, res) => addMachine(pool, req, res));
  return router;
}

/** The user of the path, for itself and for any role of its organization. */
async function readableUser(pool: Pool, req: Request, res: Response): Promise<User> {
  const caller = callerOf(res);
  const user = await findUser(pool, pathId(req, 'userId'));
  return user?.id === caller.userId ? user : requireReach(caller, user, ORG_ROLES, userNotFound);
}

async function search(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  if (!hasAnyRole(caller)) throw permissionDenied();
  const { query: page, queries } = parseBody(userSearch, await readJson(req, res), 'USER-SEARCH');
  const orgIds = caller.isIamOwner ? undefined : [...caller.orgRoles.keys()];
  const { total, users } = await searchUsers(pool, { queries, page, orgIds });
  res.json(
    searchResult(
      total,
      users.map((user) => ({ details: userDetails(user), ...userView(user) })),
    ),
  );
}

async function remove(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  const { user, event } = await transaction(pool, async (db) => {
    const user = requireReach(caller, await findUser(db, userId, 'for update'), USER_MANAGERS, userNotFound);
    if ((await rightsOf(db, userId)).isIamOwner) requireIamOwner(caller);
    await keepAnIamOwner(db, userId);
    return { user, event: await deleteUser(db, user, caller.userId) };
  });
  res.json({ details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }) });
}

async function addMachine(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const orgId = selectedOrg(req, caller);
  requireOrgRole(caller, orgId, ['ORG_OWNER']);
  await requireOrg(pool, orgId);
  const { userId, userName, accessTokenType, ...machine } = parseBody(
    newMachine,
    await readJson(req, res),
    'MACHINE-INVALID',
  );
  const id = userId ?? newId();
  const type = ACCESS_TOKEN_TYPES.indexOf(accessTokenType);
  const user = { id, orgId, userName, machine: { ...machine, accessTokenType: type } };
  const event = await transaction(pool, (db) => insertUser(db, user, caller.userId));
  res.json({
    userId: id,
    details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: orgId }),
  });
}

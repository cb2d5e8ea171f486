/** Routes to read one user by id, their metadata and links. */
import { type Request, type Response, Router } from 'express';
import { callerOf, requireReach } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { OperationId } from '../access/permissions.ts';
import type { Pool } from '../db/pool.ts';
import { searchResult } from '../http/paging.ts';
import { linksOf } from './idp-links.ts';
import { metadataOf } from './metadata.ts';
import { findUser, type User, userNotFound } from './store.ts';
import { userDetails, userView } from './view.ts';

export function readRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get('/v2beta/users/:userId', async (req, res) => {
    const user = await readableUser(pool, 'getUser', req, res);
    res.json({ details: userDetails(user), user: userView(user) });
  });
  router.get('/v2beta/users/:userId/metadata', async (req, res) => {
    const metadata = await metadataOf(pool, (await readableUser(pool, 'getUserMetadata', req, res)).id);
    res.json(searchResult(metadata.length, metadata));
  });
  router.get('/v2beta/users/:userId/links', async (req, res) => {
    const links = await linksOf(pool, (await readableUser(pool, 'getUserLinks', req, res)).id);
    res.json(searchResult(links.length, links));
  });
  return router;
}

/** The user of the path, for the user themselves and for callers with any role on their organization. */
async function readableUser(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<User> {
  return requireReach(callerOf(res), operation, await findUser(pool, pathId(req, 'userId')), userNotFound);
}

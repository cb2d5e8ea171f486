/** The user of the token: `GET /management/v1/me` with their roles, `GET /auth/v1/users/me` in an older form. */
import { type Response, Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { findOrgs } from '../../orgs/store.ts';
import { findUser, type User } from '../../users/store.ts';
import { userDetails, userView } from '../../users/view.ts';
import { userViewV1 } from '../../users/view-v1.ts';
import { invalidToken } from '../authenticate.ts';

export function meRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get('/auth/v1/users/me', async (_req, res) => {
    res.json({ user: userViewV1(await ownUser(pool, res)) });
  });
  router.get('/management/v1/me', async (_req, res) => {
    const { isIamOwner, orgRoles } = callerOf(res);
    const [user, orgs] = await Promise.all([ownUser(pool, res), findOrgs(pool, [...orgRoles.keys()])]);
    res.json({
      details: userDetails(user),
      user: userView(user),
      instanceRoles: isIamOwner ? ['IAM_OWNER'] : [],
      organizations: orgs.map(({ id, name, domain }) => ({
        id,
        name,
        primaryDomain: domain,
        roles: orgRoles.get(id) ?? [],
      })),
    });
  });
  return router;
}

/** @throws ApiError 401 when the user was deleted after the token was checked */
async function ownUser(pool: Pool, res: Response): Promise<User> {
  const user = await findUser(pool, callerOf(res).userId);
  if (!user) throw invalidToken();
  return user;
}

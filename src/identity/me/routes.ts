/** `GET /management/v1/me`: the user of the token, and their roles. */
import { Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import type { Pool } from '../../db/pool.ts';
import { findOrgs } from '../../orgs/store.ts';
import { findUser } from '../../users/store.ts';
import { userDetails, userView } from '../../users/view.ts';
import { invalidToken } from '../authenticate.ts';

export function meRoutes({ pool }: { pool: Pool }): Router {
  return Router().get('/management/v1/me', async (_req, res) => {
    const { userId, isIamOwner, orgRoles } = callerOf(res);
    const [user, orgs] = await Promise.all([findUser(pool, userId), findOrgs(pool, [...orgRoles.keys()])]);
    // The user was deleted after the token was checked.
    if (!user) throw invalidToken();
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
}

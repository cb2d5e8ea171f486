/**
 * All routes about identity (me, members, tokens, keys, secrets, OAuth clients, sessions, second factors), and all user
 * routes except addresses (credentials/verification.ts) and passwords (credentials/password-reset.ts).
 */
import { Router } from 'express';
import type { OrgRole } from '../contract/roles.ts';
import { type Finder, serve } from '../contract/serve.ts';
import { userOperations } from '../contract/users.ts';
import { memberRoutes } from '../directory/member-routes.ts';
import { findOrgs } from '../directory/organizations.ts';
import { type SetUpDeps, setUpRoutes } from '../directory/set-up.ts';
import { userDetails, userView, userViewV1 } from '../directory/users/read.ts';
import { humanRoutes, machineRoutes, readRoutes, searchRoutes, stateRoutes } from '../directory/users/routes.ts';
import { findUser, type User } from '../directory/users/store.ts';
import type { Pool } from '../platform/db/pool.ts';
import type { Reads } from '../platform/db/replica.ts';
import { accountRoutes } from './account/routes.ts';
import { invalidToken } from './authenticate.ts';
import { type ClientDeps, clientRoutes } from './client-routes.ts';
import { factorRoutes } from './credentials/factors.ts';
import { type ChangeDeps, humanChangeRoutes } from './credentials/human.ts';
import { type LinkRouteDeps, linkRoutes } from './credentials/idp-links.ts';
import { sentFactorRoutes } from './credentials/sent-factors.ts';
import { totpRoutes } from './credentials/totp.ts';
import { intentRoutes } from './intents.ts';
import { loginsRoutes } from './login-routes.ts';
import { keyRoutes, patRoutes, secretRoutes } from './machines/routes.ts';
import { type PasskeyRouteDeps, passkeyRoutes } from './passkeys/routes.ts';
import { type SessionDeps, sessionRoutes } from './session-routes.ts';

/** Routes about identity. */
export function identityRoutes(deps: SessionDeps & ClientDeps & LinkRouteDeps & PasskeyRouteDeps): Router {
  return Router()
    .use(meRoutes(deps))
    .use(memberRoutes(deps))
    .use(patRoutes(deps))
    .use(keyRoutes(deps))
    .use(secretRoutes(deps))
    .use(clientRoutes(deps))
    .use(sessionRoutes(deps))
    .use(intentRoutes(deps))
    .use(loginsRoutes(deps))
    .use(totpRoutes(deps))
    .use(sentFactorRoutes(deps))
    .use(factorRoutes(deps))
    .use(passkeyRoutes(deps))
    .use(linkRoutes(deps))
    .use(accountRoutes(deps));
}

/** Routes of users, in their order, and the set-up of an organization with its first user. */
export function userRoutes(deps: ChangeDeps & SetUpDeps & { reads: Reads }): Router {
  return Router()
    .use(setUpRoutes(deps))
    .use(readRoutes(deps))
    .use(searchRoutes(deps))
    .use(humanRoutes(deps))
    .use(humanChangeRoutes(deps))
    .use(machineRoutes(deps))
    .use(stateRoutes(deps));
}

/** The user of the token: `GET /management/v1/me` with their roles, `GET /auth/v1/users/me` in an older form. */
export function meRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const user = signedIn(pool);
  serve(router, userOperations.getMyUser, user, ({ target }) => ({ user: userViewV1(target) }));
  serve(router, userOperations.getMe, user, async ({ caller: { isIamOwner, orgRoles }, target }) => {
    const orgs = await findOrgs(pool, [...orgRoles.keys()]);
    return {
      details: userDetails(target),
      user: userView(target),
      instanceRoles: isIamOwner ? ['IAM_OWNER' as const] : [],
      organizations: orgs.map(({ id, name, domain }) => ({
        id,
        name,
        primaryDomain: domain,
        roles: [...(orgRoles.get(id) ?? [])] as OrgRole[],
      })),
    };
  });
  return router;
}

/** The calling user. @throws ApiError 401 when they were deleted after the token was checked */
function signedIn(pool: Pool): Finder<'caller', User> {
  return {
    of: 'caller',
    async find({ caller }) {
      const user = await findUser(pool, caller.userId);
      if (!user) throw invalidToken();
      return user;
    },
  };
}

/**
 * All user routes, in order, except addresses (verification-routes.ts) and passwords (password-routes.ts); and the
 * set-up of an organization with its first user.
 */
import { Router } from 'express';
import type { Reads } from '../db/reads.ts';
import { hasFailedLogins } from '../identity/login/unlock.ts';
import { readRoutes } from '../users/read-routes.ts';
import { stateRoutes } from '../users/state-routes.ts';
import type { ChangeDeps } from './change-human.ts';
import { humanRoutes } from './human-routes.ts';
import { machineRoutes } from './machine-routes.ts';
import { searchRoutes } from './search-routes.ts';
import { setUpRoutes } from './set-up/routes.ts';
import type { SetUpDeps } from './set-up/set-up-org.ts';

export function userRoutes(deps: ChangeDeps & SetUpDeps & { reads: Reads }): Router {
  return Router()
    .use(setUpRoutes(deps))
    .use(readRoutes(deps))
    .use(searchRoutes(deps))
    .use(humanRoutes(deps))
    .use(machineRoutes(deps))
    .use(stateRoutes(deps, (db, userId) => hasFailedLogins(db, deps.secrets, userId)));
}

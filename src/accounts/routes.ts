/** All user routes, in order, except addresses (verification-routes.ts) and passwords (password-routes.ts). */
import { Router } from 'express';
import { readRoutes } from '../users/read-routes.ts';
import { stateRoutes } from '../users/state-routes.ts';
import type { ChangeDeps } from './change-human.ts';
import { humanRoutes } from './human-routes.ts';
import { machineRoutes } from './machine-routes.ts';

export function userRoutes(deps: ChangeDeps): Router {
  return Router().use(readRoutes(deps)).use(humanRoutes(deps)).use(machineRoutes(deps)).use(stateRoutes(deps));
}

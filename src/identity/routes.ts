/** Everything about who is calling: members, personal access tokens, sessions. */
import { Router } from 'express';
import { memberRoutes } from './members/routes.ts';
import { type SessionDeps, sessionRoutes } from './sessions/routes.ts';
import { patRoutes } from './tokens/routes.ts';

export function identityRoutes(deps: SessionDeps): Router {
  return Router().use(memberRoutes(deps)).use(patRoutes(deps)).use(sessionRoutes(deps));
}

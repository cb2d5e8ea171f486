/** All routes about identity: me, members, tokens, keys, secrets, OAuth clients, sessions, second factors. */
import { Router } from 'express';
import { clientRoutes } from './clients/routes.ts';
import { loginsRoutes } from './logins/routes.ts';
import { keyRoutes } from './machines/key-routes.ts';
import { secretRoutes } from './machines/secret-routes.ts';
import { meRoutes } from './me/routes.ts';
import { memberRoutes } from './members/routes.ts';
import { type SessionDeps, sessionRoutes } from './sessions/routes.ts';
import { patRoutes } from './tokens/routes.ts';
import { totpRoutes } from './totp/routes.ts';

export function identityRoutes(deps: SessionDeps): Router {
  return Router()
    .use(meRoutes(deps))
    .use(memberRoutes(deps))
    .use(patRoutes(deps))
    .use(keyRoutes(deps))
    .use(secretRoutes(deps))
    .use(clientRoutes(deps))
    .use(sessionRoutes(deps))
    .use(loginsRoutes(deps))
    .use(totpRoutes(deps));
}

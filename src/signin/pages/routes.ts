/** All web pages, under `/ui`. */
import { Router } from 'express';
import type { Config } from '../../platform/config.ts';
import { sameOrigin } from '../../platform/http/origins.ts';
import type { ForgottenDeps } from '../credentials/password-reset.ts';
import type { LoginPageDeps } from './interaction.ts';
import { loginPages } from './login.ts';
import { forgotPages, verifyPages } from './verify.ts';

export type PageDeps = LoginPageDeps & ForgottenDeps & { config: Pick<Config, 'baseUrl'> };

/** Mount it at `/`, with `pageErrors` after all routes. */
export function pageRoutes(deps: PageDeps): Router {
  const router = Router();
  router.use('/ui', sameOrigin(deps.config.baseUrl));
  router.use(verifyPages(deps));
  router.use(forgotPages(deps));
  router.use(loginPages(deps));
  return router;
}

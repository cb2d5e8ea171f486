/** All web pages, under `/ui`. */
import { Router } from 'express';
import { logoRoutes } from '../../directory/branding-routes.ts';
import type { Config } from '../../platform/config.ts';
import { timesRoutes } from '../../platform/html/times.ts';
import { sameOrigin } from '../../platform/http/origins.ts';
import { originsOf } from '../../platform/relying-party.ts';
import type { ForgottenDeps } from '../credentials/password-reset.ts';
import type { LoginPageDeps } from './interaction.ts';
import { loginPages } from './login.ts';
import { pageScripts } from './passkey-offer.ts';
import { forgotPages, verifyPages } from './verify.ts';

export type PageDeps = LoginPageDeps & ForgottenDeps & { config: Pick<Config, 'baseUrl'> };

/** Mount it at `/`, with `pageErrors` after all routes. */
export function pageRoutes(deps: PageDeps): Router {
  const router = Router();
  router.use('/ui', sameOrigin(deps.config.baseUrl));
  // https://w3c.github.io/webappsec-change-password-url: password managers lead people there.
  router.get('/.well-known/change-password', (_req, res) => res.redirect(302, `${deps.config.baseUrl}/ui/forgot`));
  // https://passkeys.dev/docs/advanced/related-origins: browsers ask whose pages may use our passkeys.
  router.get('/.well-known/webauthn', (_req, res) => res.json({ origins: originsOf(deps.config) }));
  router.use(pageScripts()).use(timesRoutes()).use(logoRoutes(deps));
  router.use(verifyPages(deps));
  router.use(forgotPages(deps));
  router.use(loginPages(deps));
  return router;
}

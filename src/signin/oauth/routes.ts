/**
 * The routes of the authorization server.
 *
 * Guarantee: under `/oauth` and `/oidc` every error is the JSON of RFC 6749 section 5.2, also for an unknown address or
 * method.
 */
import { type ErrorRequestHandler, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { OAUTH_PATHS } from '../../contract/own-clients.ts';
import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { levelOf, publicError } from '../../platform/http/errors.ts';
import { allowedMethods } from '../../platform/http/methods.ts';
import { withoutCors } from '../../platform/http/origins.ts';
import { formAsQuery } from '../../platform/http/request-body.ts';
import { pathOf, requestIdOf } from '../../platform/http/requests.ts';
import { loggable } from '../../platform/logger.ts';
import { instanceBranding } from '../branding.ts';
import { FAULT, UNAVAILABLE } from './account.ts';
import type { LiveProvider } from './provider.ts';
import { brandSignOut } from './sign-out.ts';

const PREFIXES = ['/oauth', '/oidc'];

export interface OAuthRoutesDeps {
  pool: Db;
  oauth: LiveProvider;
  secrets: Secrets;
  config: Pick<Config, 'CLI_LOGIN' | 'baseUrl'>;
  logger: Logger;
}

/** Mount it at `/`, whatever the issuer's path is. */
export function oauthRoutes(deps: OAuthRoutesDeps): Router {
  const { oauth, config, logger } = deps;
  const router = Router();
  const answer: RequestHandler = async (req, res) => {
    res.set('Content-Security-Policy', POLICY);
    // The library checks more: the origin must be one of this very client.
    withoutCors(res);
    await oauth.handle(req, res);
  };
  router.get(
    [OAUTH_PATHS.authorization, `${OAUTH_PATHS.authorization}/:uid`, OAUTH_PATHS.jwks, OAUTH_PATHS.userinfo],
    answer,
  );
  router.post([OAUTH_PATHS.authorization, OAUTH_PATHS.end_session], formAsQuery(answer, config.baseUrl));
  router.get([OAUTH_PATHS.end_session, `${OAUTH_PATHS.end_session}/success`], brandSignOut(deps), answer);
  router.get(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'], answer);
  router.post([OAUTH_PATHS.token, OAUTH_PATHS.introspection, OAUTH_PATHS.revocation], answer);
  router.post([OAUTH_PATHS.userinfo, `${OAUTH_PATHS.end_session}/confirm`], answer);
  if (config.CLI_LOGIN === 'all') addDeviceRoutes(router, instanceBranding(deps), answer);
  router.use(
    PREFIXES,
    noSuchEndpoint(() => router),
  );
  router.use(PREFIXES, badAddress(logger));
  return router;
}

function addDeviceRoutes(router: Router, branded: RequestHandler, answer: RequestHandler): void {
  router.get([OAUTH_PATHS.code_verification, `${OAUTH_PATHS.code_verification}/:uid`], branded, answer);
  router.post(OAUTH_PATHS.device_authorization, answer);
  router.post(OAUTH_PATHS.code_verification, branded, answer);
}

/** For the library's own pages, which submit themselves: it adds their script's hash to an existing `script-src`. */
const POLICY = "default-src 'none'; script-src; frame-ancestors 'none'; base-uri 'none'";

function noSuchEndpoint(router: () => Router): RequestHandler {
  return (req, res) => {
    const allowed = allowedMethods(router(), pathOf(req));
    if (allowed.length === 0) return refuse(res, 404, 'There is no such endpoint.');
    res.set('Allow', allowed.join(', '));
    refuse(res, 405, 'The endpoint does not support this method.');
  };
}

/** Handles errors before the library gets the request, such as a path with a broken percent-encoding. */
function badAddress(logger: Logger): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) return next(error);
    const { http } = publicError(error);
    if (http < 500) return refuse(res, http, 'The request could not be read.');
    const line = { requestId: requestIdOf(res), path: pathOf(req), err: loggable(error) };
    logger[levelOf(http)](line, 'request failed');
    res.status(http).json(http === 503 ? UNAVAILABLE : FAULT);
  };
}

function refuse(res: Response, status: number, description: string): void {
  res.status(status).json({ error: 'invalid_request', error_description: description });
}

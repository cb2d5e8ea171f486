/**
 * The HTTP application: everything that is mounted, in order.
 *
 * Guarantee: every request needs an authenticated caller, also for a path that does not exist. The exceptions are the
 * routes that are mounted before `authenticate`, and unknown paths below `PUBLIC`.
 */
import express, { type Express, type Request, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { openChannel } from '../console/api.ts';
import { consoleApi, openConsole } from '../console/routes.ts';
import { connectCalls, connectErrors } from '../contract/connect.ts';
import { documentRoutes } from '../contract/publish.ts';
import { auditRoutes } from '../directory/audit-routes.ts';
import { brandingRoutes } from '../directory/branding-routes.ts';
import { mailRoutes } from '../directory/mail-routes.ts';
import { orgRoutes, webhookRoutes } from '../directory/organization-routes.ts';
import { policyRoutes } from '../directory/policy-routes.ts';
import type { Queues } from '../imports/queue/queues.ts';
import { importRoutes } from '../imports/routes.ts';
import type { ImportSignal } from '../imports/status/watch.ts';
import { requireWorkers } from '../imports/status/workers.ts';
import { diagnosticsRoutes } from '../operate/diagnostics.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Config } from '../platform/config.ts';
import type { Pool } from '../platform/db/pool.ts';
import type { Reads } from '../platform/db/replica.ts';
import type { Secrets } from '../platform/encryption.ts';
import { pageErrors } from '../platform/html/errors.ts';
import { chooseLanguage } from '../platform/html/languages.ts';
import { concretePathsFirst, noSuchOperation, renderErrors } from '../platform/http/errors.ts';
import { healthRoutes } from '../platform/http/health.ts';
import { rateLimits } from '../platform/http/limits.ts';
import { answerOptions, routed } from '../platform/http/methods.ts';
import type { ApiMetrics } from '../platform/http/metrics.ts';
import { cors, responseHeaders } from '../platform/http/origins.ts';
import { warnOfProxies } from '../platform/http/proxies.ts';
import { accessLog, requestId } from '../platform/http/requests.ts';
import { accountPages } from '../signin/account/pages.ts';
import { authenticate } from '../signin/authenticate.ts';
import { brandErrors } from '../signin/branding.ts';
import { openOrigins } from '../signin/clients.ts';
import { passwordRoutes } from '../signin/credentials/password-reset.ts';
import { verificationRoutes } from '../signin/credentials/verification.ts';
import { concludeIntent } from '../signin/intents.ts';
import { isAttempt } from '../signin/login/attempts.ts';
import type { LiveProvider } from '../signin/oauth/provider.ts';
import { oauthRoutes } from '../signin/oauth/routes.ts';
import { pageRoutes } from '../signin/pages/routes.ts';
import { passwordSourceRoutes } from '../signin/password-sources/routes.ts';
import { callbackRoutes } from '../signin/providers/callbacks.ts';
import { idpRoutes } from '../signin/providers/routes.ts';
import { identityRoutes, userRoutes } from '../signin/routes.ts';

export interface AppDeps {
  pool: Pool;
  /** Connections for uploads; see `ImportDeps`. */
  uploadPool?: Pool;
  reads: Reads;
  config: Config;
  secrets: Secrets;
  oauth: LiveProvider;
  hasher: Hasher;
  queues: Queues;
  signal: ImportSignal;
  metrics: ApiMetrics;
  /** Records a span for each request; absent: none is recorded. */
  traceRequests?: RequestHandler | undefined;
  logger: Logger;
}

/** Builds the application; it does not listen yet. */
export function buildApp(deps: AppDeps): Express {
  const app = express();
  app.use(v2Paths);
  app.disable('x-powered-by').disable('etag').set('trust proxy', deps.config.TRUST_PROXY);

  if (deps.traceRequests) app.use(deps.traceRequests);
  app.use(deps.metrics.observe);
  app.use(requestId());
  app.use(chooseLanguage(deps.config.baseUrl));
  app.use(responseHeaders(deps.config));
  app.use(accessLog(deps.logger));
  app.use(connectErrors());
  app.use(cors({ routes: () => app.router, isKnown: openOrigins(deps.pool).has }));
  app.use(answerOptions(() => app.router));

  // Without the queue or workers, users can still log in, and imports are accepted and wait.
  const workers = { check: () => requireWorkers(deps.pool) };
  app.use(healthRoutes({ ...deps, workers, optional: ['queue', 'workers'] }));
  if (!deps.config.METRICS_PORT) app.use(deps.metrics.routes);
  app.use(warnOfProxies(deps.config.TRUST_PROXY, deps.logger));
  app.use(rateLimits(deps, isAttempt));
  const api = apiRoutes(deps, () => app.router);
  const ofConsole = { ...deps, api: openChannel(inside([passwordRoutes(deps), api], deps.logger)) };
  app.use(consoleApi(ofConsole));
  app.use(routed(documentRoutes(deps)));
  app.use(routed(oauthRoutes(deps)));
  app.use(callbackRoutes({ ...deps, concludeIntent: (result) => concludeIntent(deps, result) }));
  app.use(routed(pageRoutes(deps)));
  app.use(routed(accountPages(deps)));
  app.use(connectCalls(authenticate(deps)));
  // A valid code is enough for one of them.
  app.use(routed(passwordRoutes(deps)));

  const console = openConsole(ofConsole);
  app.use(routed(console.routes));
  app.use(api);

  app.use(noSuchOperation(() => app.router));
  app.use(['/ui', '/account'], brandErrors(deps), pageErrors(deps.logger));
  app.use('/console', console.errors);
  app.use(renderErrors(deps.logger));
  return app;
}

/** Everything that needs a caller. */
function apiRoutes(deps: AppDeps, routes: () => unknown): Router {
  const api = Router();
  api.use(exceptPublic(authenticate(deps)));
  api.use(concretePathsFirst(routes));
  api.use(routed(orgRoutes(deps)));
  api.use(routed(userRoutes(deps)));
  api.use(routed(verificationRoutes(deps)));
  api.use(routed(identityRoutes(deps)));
  api.use(routed(policyRoutes(deps)));
  api.use(routed(brandingRoutes(deps)));
  api.use(routed(mailRoutes(deps)));
  api.use(routed(importRoutes(deps)));
  api.use(routed(webhookRoutes(deps)));
  api.use(routed(passwordSourceRoutes(deps)));
  api.use(routed(idpRoutes(deps)));
  api.use(routed(auditRoutes(deps)));
  api.use(routed(diagnosticsRoutes(deps)));
  return api;
}

/**
 * The API for the console, which calls it in this process: the browser's own request is logged, counted and limited.
 */
function inside(api: Router[], logger: Logger): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag');
  // The console names the address of the browser.
  app.set('trust proxy', true);
  app.use(requestId());
  app.use(api);
  app.use(noSuchOperation(() => app.router));
  app.use(renderErrors(logger));
  return app;
}

/** Later names of ZITADEL's for the same operations. */
const LATER_NAMES: readonly [RegExp, string][] = [
  [/^\/v2(?=\/(?:users|sessions|idp_intents)(?:[/?]|$))/i, '/v2beta'],
  [/^\/v2\/organizations\/_search(?=[/?]|$)/i, '/admin/v1/orgs/_search'],
];

/** Everything after this sees the one name. */
function v2Paths(req: Request, _res: Response, next: () => void): void {
  for (const [later, name] of LATER_NAMES) {
    req.url = req.url.replace(later, name);
    req.originalUrl = req.originalUrl.replace(later, name);
  }
  next();
}

/** What people open in a browser, and what programs read before they have a token. */
const PUBLIC = /^\/(?:account|ui|docs|console|\.well-known|healthz|readyz|metrics|openapi\.json)(?:\/|$)/i;

function exceptPublic(authenticated: RequestHandler): RequestHandler {
  return (req, res, next) => (PUBLIC.test(req.path) ? next() : authenticated(req, res, next));
}

/**
 * The HTTP application: everything that is mounted, in order.
 *
 * Guarantee: every request under `/admin`, `/management` and `/v2beta` needs an authenticated caller. The one exception
 * is in `passwordRoutes`, where a valid code is enough.
 */
import express, { type Express } from 'express';
import type { Logger } from 'pino';
import { pageRoutes } from './accounts/pages/routes.ts';
import { passwordRoutes } from './accounts/password-routes.ts';
import { userRoutes } from './accounts/routes.ts';
import { verificationRoutes } from './accounts/verification-routes.ts';
import { auditRoutes } from './audit/routes.ts';
import type { Config } from './config.ts';
import type { Pool } from './db/pool.ts';
import { diagnosticsRoutes } from './diagnostics/routes.ts';
import { accessLog } from './http/access-log.ts';
import { docsRoutes } from './http/docs.ts';
import { noSuchOperation, renderErrors } from './http/errors.ts';
import { healthRoutes } from './http/health.ts';
import type { Metrics } from './http/metrics/metrics.ts';
import { answerOptions } from './http/options.ts';
import { rateLimits } from './http/rate-limit.ts';
import { requestId } from './http/request-id.ts';
import { responseHeaders } from './http/response-headers.ts';
import { authenticate } from './identity/authenticate.ts';
import { isAttempt } from './identity/login/attempts.ts';
import type { LiveProvider } from './identity/oauth/provider.ts';
import { oauthRoutes } from './identity/oauth/routes.ts';
import { identityRoutes } from './identity/routes.ts';
import { importRoutes } from './imports/routes.ts';
import type { ImportSignal } from './imports/status/signal.ts';
import { openApiRoutes } from './openapi/routes.ts';
import { orgRoutes } from './orgs/routes.ts';
import { pageErrors } from './pages/errors.ts';
import type { Hasher } from './passwords/hasher.ts';
import { policyRoutes } from './policies/routes.ts';
import type { Queues } from './queue/queues.ts';
import type { Secrets } from './secrets.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export interface AppDeps {
  pool: Pool;
  /** See `ImportDeps`. */
  uploadPool?: Pool;
  config: Config;
  secrets: Secrets;
  oauth: LiveProvider;
  hasher: Hasher;
  queues: Queues;
  signal: ImportSignal;
  metrics: Metrics;
  logger: Logger;
}

/** Builds the application; it does not listen yet. */
export function buildApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', deps.config.TRUST_PROXY);

  app.use(deps.metrics.observe);
  app.use(requestId());
  app.use(responseHeaders(deps.config));
  app.use(accessLog(deps.logger));

  // Without the queue, users can still log in, and imports are accepted and wait.
  app.use(healthRoutes({ ...deps, optional: ['queue'] }));
  if (!deps.config.METRICS_PORT) app.use(deps.metrics.routes);
  app.use(rateLimits(deps, isAttempt));
  app.use(docsRoutes());
  app.use(openApiRoutes(deps));
  app.use(oauthRoutes(deps));
  app.use(pageRoutes(deps));
  app.use(passwordRoutes(deps));

  app.use(['/admin', '/management', '/v2beta'], authenticate(deps));
  app.use(answerOptions(() => app.router));
  app.use(orgRoutes(deps));
  app.use(userRoutes(deps));
  app.use(verificationRoutes(deps));
  app.use(identityRoutes(deps));
  app.use(policyRoutes(deps));
  app.use(importRoutes(deps));
  app.use(webhookRoutes(deps));
  app.use(auditRoutes(deps));
  app.use(diagnosticsRoutes(deps));

  app.use(noSuchOperation(() => app.router));
  app.use('/ui', pageErrors(deps.logger));
  app.use(renderErrors(deps.logger));
  return app;
}

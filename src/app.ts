/**
 * The HTTP application: the list of everything that is mounted, in order.
 *
 * Guarantee: under `/admin`, `/management` and `/v2beta` nothing is answered without a caller, except what
 * `verificationRoutes` lets somebody do who holds a code.
 */
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Pool } from './db/pool.ts';
import { accessLog } from './http/access-log.ts';
import { noSuchOperation, renderErrors } from './http/errors.ts';
import { healthRoutes } from './http/health.ts';
import { requestId } from './http/request-id.ts';
import { authenticate } from './identity/authenticate.ts';
import { verifyPages } from './identity/pages/verify.ts';
import { identityRoutes } from './identity/routes.ts';
import { importRoutes } from './imports/routes.ts';
import type { ImportSignal } from './imports/signal.ts';
import { orgRoutes } from './orgs/routes.ts';
import type { Hasher } from './passwords/hasher.ts';
import type { Queues } from './queue/queues.ts';
import type { Secrets } from './secrets.ts';
import { userRoutes } from './users/routes.ts';
import { verificationRoutes } from './users/verification-routes.ts';

export interface AppDeps {
  pool: Pool;
  config: Config;
  secrets: Secrets;
  hasher: Hasher;
  queues: Queues;
  signal: ImportSignal;
  logger: Logger;
}

/** Builds the application; it listens to nothing yet. */
export function buildApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').set('trust proxy', deps.config.TRUST_PROXY);

  app.use(requestId());
  app.use(accessLog(deps.logger));
  app.use(noStore);

  app.use(healthRoutes(deps));
  app.use(verifyPages(deps));
  app.use(verificationRoutes(deps));

  app.use(['/admin', '/management', '/v2beta'], authenticate(deps));
  app.use(orgRoutes(deps));
  app.use(userRoutes(deps));
  app.use(identityRoutes(deps));
  app.use(importRoutes(deps));

  app.use(noSuchOperation(() => app.router));
  app.use(renderErrors(deps.logger));
  return app;
}

/** Answers hold tokens and personal data: no cache may keep them. */
const noStore: RequestHandler = (_req, res, next) => {
  res.set('Cache-Control', 'no-store');
  next();
};

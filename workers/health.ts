/** `/healthz`, `/readyz` and `/metrics` of a worker process, on HEALTH_PORT, for monitoring. */
import express from 'express';
import type { Logger } from 'pino';
import { openWorkerMetrics } from '../src/operate/metrics.ts';
import type { Config } from '../src/platform/config.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import { noSuchOperation, renderErrors } from '../src/platform/http/errors.ts';
import { type HealthDeps, healthRoutes } from '../src/platform/http/health.ts';
import { responseHeaders } from '../src/platform/http/origins.ts';
import { listen } from '../src/platform/http/server.ts';
import { listenError } from '../src/platform/lifecycle.ts';

/**
 * Listens on HEALTH_PORT.
 * @throws StartError when it cannot listen on that port
 */
export async function startHealthServer(
  config: Config,
  deps: HealthDeps & { pool: Pool },
  logger: Logger,
): Promise<{ stop(): Promise<void> }> {
  const { HOST: host, HEALTH_PORT: port, METRICS_TOKEN } = config;
  const { routes } = openWorkerMetrics(deps.pool, METRICS_TOKEN);
  const app = express().disable('x-powered-by');
  app.use(responseHeaders(), healthRoutes(deps), routes);
  app.use(noSuchOperation(() => app.router));
  app.use(renderErrors(logger));
  const server = await listen(app, { host, port }).catch((error) => {
    throw listenError({ host, port, setting: 'HEALTH_PORT' }, error);
  });
  return { stop: () => server.stop(0) };
}

/** `/healthz`, `/readyz` and `/metrics` of a worker process, on HEALTH_PORT, for monitoring. */
import express from 'express';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Pool } from '../src/db/pool.ts';
import { noSuchOperation, renderErrors } from '../src/http/errors.ts';
import { type HealthDeps, healthRoutes } from '../src/http/health.ts';
import { responseHeaders } from '../src/http/response-headers.ts';
import { listen } from '../src/http/server.ts';
import { openWorkerMetrics } from '../src/metrics/worker.ts';
import { listenError } from '../src/start/address.ts';

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

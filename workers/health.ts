/** `/healthz` and `/readyz` of a worker process, on HEALTH_PORT, for whatever watches over it. */
import { once } from 'node:events';
import express from 'express';
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import type { Pool } from '../src/db/pool.ts';
import { renderErrors } from '../src/http/errors.ts';
import { healthRoutes } from '../src/http/health.ts';

/** Listens when HEALTH_PORT is set. */
export async function startHealthServer(
  config: Config,
  pool: Pool,
  logger: Logger,
): Promise<{ stop(): Promise<void> }> {
  if (config.HEALTH_PORT === 0) return { stop: async () => {} };
  const app = express().disable('x-powered-by').use(healthRoutes({ pool })).use(renderErrors(logger));
  const server = app.listen(config.HEALTH_PORT, config.HOST);
  await once(server, 'listening');
  return {
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/**
 * `/metrics` of an API process on METRICS_PORT, which a firewall can keep from those who use the API.
 * On crash: it ends with the process.
 */
import express from 'express';
import type { Logger } from 'pino';
import { noSuchOperation, renderErrors } from '../errors.ts';
import { requestId } from '../request-id.ts';
import { responseHeaders } from '../response-headers.ts';
import { type Listening, listen } from '../server.ts';
import type { Metrics } from './metrics.ts';

/** @throws Error EADDRINUSE and the like */
export function listenForMetrics(
  { routes }: Metrics,
  logger: Logger,
  address: { host: string; port: number },
): Promise<Listening> {
  const app = express().disable('x-powered-by');
  app.use(
    requestId(),
    responseHeaders(),
    routes,
    noSuchOperation(() => app.router),
    renderErrors(logger),
  );
  return listen(app, address);
}

/** What tracing needs, and what it offers to the process that opens it. */
import type { RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';

export interface TracingDeps {
  /** The name of the service, unless OTEL_SERVICE_NAME is set. */
  service: string;
  config: Config;
  db: Db;
  logger: Logger;
}

export interface Tracing {
  /** Mount it before all routes. */
  requests: RequestHandler;
  /**
   * Sends the last spans. Never throws.
   * @param mostMs how long it waits for the collector; by default a second
   */
  stop(mostMs?: number): Promise<void>;
}

/**
 * Metrics of the requests to this process.
 *
 * Guarantee: labels come from mounted routes, never from a raw path.
 */
import type { Request, RequestHandler, Response } from 'express';
import { Counter, Histogram, type Registry } from 'prom-client';
import { pathOf } from '../access-log.ts';
import { routePattern } from '../route-pattern.ts';
import type { Metrics } from './metrics.ts';

export interface ApiMetrics extends Metrics {
  /** Counts and times every request; mount it before all routes. */
  observe: RequestHandler;
}

/** Seconds; the long ones are for uploads and `Prefer: wait`. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Counts and times every request. @returns a handler to mount before all routes */
export function requestMetrics(registry: Registry): RequestHandler {
  const about = { labelNames: ['method', 'route', 'status'], registers: [registry] };
  const total = new Counter({ ...about, name: 'http_requests_total', help: 'Requests answered.' });
  const duration = new Histogram({
    ...about,
    name: 'http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response.',
    buckets: BUCKETS,
  });
  return (req, res, next) => {
    const started = performance.now();
    res.on('close', () => {
      const labels = { method: req.method, route: routeOf(req), status: statusClass(res) };
      total.inc(labels);
      duration.observe(labels, (performance.now() - started) / 1000);
    });
    next();
  };
}

/** The pattern of the request's route; `none` if no route matched it. */
export function routeOf(req: Request): string {
  return req.route ? routePattern(req.route.path, pathOf(req)) : 'none';
}

/** `2xx` and so on; `aborted` if the caller disconnected before the response was sent. */
function statusClass(res: Response): string {
  return res.writableFinished ? `${Math.floor(res.statusCode / 100)}xx` : 'aborted';
}

/**
 * `GET /metrics` in the text format of Prometheus: metrics of this process, of its requests, and the measures that the
 * caller adds. It needs no token, like `/healthz`, unless METRICS_TOKEN is set.
 *
 * Guarantee: labels come from mounted routes, never from a raw path. A measure that fails or takes over 2 seconds is
 * omitted from the response and counted in `metrics_failed_reads_total`. A measure is read at most once in 5 seconds.
 */

import { type Request, type RequestHandler, type Response, Router } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withTimeout } from '../../timeout.ts';
import { pathOf } from '../access-log.ts';
import { routePattern } from '../route-pattern.ts';
import { requireToken } from './token.ts';

/** A metric that is read on request. */
export interface Measure {
  /** A Prometheus name, such as `muster_mails_pending`. */
  name: string;
  help: string;
  /** Name of the label that distinguishes several values of one read. */
  label?: string;
  /** The value only grows while the process lives: a counter, not a gauge. */
  counts?: true;
  /** One value; or several, by label value. */
  read(): Promise<number | Record<string, number>>;
}

export interface Metrics {
  /** Counts and times every request; mount it before all routes. */
  observe: RequestHandler;
  routes: Router;
}

const FRESH_MS = 5_000;
const READ_MS = 2_000;
/** Seconds; the long ones are for uploads and `Prefer: wait`. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Each call creates its own registry, so that one process can run several applications.
 * @param token the bearer token that `/metrics` requires, if any
 */
export function openMetrics(measures: Measure[], token?: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const failures = new Counter({
    name: 'metrics_failed_reads_total',
    help: 'Reads of a measure that failed or took too long.',
    labelNames: ['measure'],
    registers: [registry],
  });
  const readAll = atMostEvery(
    FRESH_MS,
    measures.map((measure) => readerOf(registry, measure, failures)),
  );
  const routes = Router();
  routes.get('/metrics', requireToken(token), async (_req, res) => {
    await readAll();
    res.type(registry.contentType).send(await registry.metrics());
  });
  return { observe: requestMetrics(registry), routes };
}

function requestMetrics(registry: Registry): RequestHandler {
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

/** `none` if no route matched the request. */
function routeOf(req: Request): string {
  return req.route ? routePattern(req.route.path, pathOf(req)) : 'none';
}

/** `2xx` and so on; `aborted` if the caller disconnected before the response was sent. */
function statusClass(res: Response): string {
  return res.writableFinished ? `${Math.floor(res.statusCode / 100)}xx` : 'aborted';
}

/** Reads one measure into its metric. Never throws, as the other metrics are useful without this one. */
function readerOf(registry: Registry, measure: Measure, failures: Counter): () => Promise<void> {
  const { name, help, label, counts } = measure;
  const metric = new (counts ? Counter : Gauge)({
    name,
    help,
    labelNames: label ? [label] : [],
    registers: [registry],
  });
  return async () => {
    try {
      const value = await withTimeout(measure.read(), READ_MS, name);
      // Counters and gauges start at 0 after a reset, so adding the value sets it.
      metric.reset();
      if (typeof value === 'number') metric.inc(value);
      else for (const [key, n] of Object.entries(value)) metric.inc({ [label ?? '']: key }, n);
    } catch {
      failures.inc({ measure: name });
      metric.reset();
      if (!label) metric.remove();
    }
  };
}

/** Runs all of `work`, unless the last run started less than `ms` ago; then it waits for that run. */
function atMostEvery(ms: number, work: (() => Promise<void>)[]): () => Promise<unknown> {
  let begun = Number.NEGATIVE_INFINITY;
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const now = performance.now();
    if (now - begun >= ms) {
      begun = now;
      last = Promise.all(work.map((one) => one()));
    }
    return last;
  };
}

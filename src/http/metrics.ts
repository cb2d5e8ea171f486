/**
 * `GET /metrics` in the text format of Prometheus, without a token, as `/healthz`: figures of this process, of the requests
 * it answered, and what the caller wants measured besides.
 *
 * Guarantee: labels come from what is mounted and never from a raw path. A measure that fails or takes over 2 seconds is
 * left out of the answer and counted in `metrics_failed_reads_total`; it is read at most once in 5 seconds.
 */

import { type Request, type RequestHandler, type Response, Router } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { withTimeout } from '../timeout.ts';
import { pathOf } from './access-log.ts';
import { routePattern } from './route-pattern.ts';

/** A figure that is read when it is asked for. */
export interface Measure {
  /** As Prometheus wants it: `muster_mails_pending`. */
  name: string;
  help: string;
  /** Name of the label that tells several values of one read apart. */
  label?: string;
  /** It only grows while the process lives: a counter, not a gauge. */
  counts?: true;
  /** One value; or several, by the value of the label. */
  read(): Promise<number | Record<string, number>>;
}

export interface Metrics {
  /** Counts and times every request; mount it before everything that answers. */
  observe: RequestHandler;
  routes: Router;
}

const FRESH_MS = 5_000;
const READ_MS = 2_000;
/** Seconds; long ones are uploads and waits. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Each call has a registry of its own, so that several applications may live in one process. */
export function openMetrics(measures: Measure[]): Metrics {
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
  routes.get('/metrics', async (_req, res) => {
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
    help: 'Time from the head of a request to the end of its answer.',
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

/** `none` where no route took the request. */
function routeOf(req: Request): string {
  return req.route ? routePattern(req.route.path, pathOf(req)) : 'none';
}

/** `2xx` and so on; `aborted` when the caller had gone before the answer was out. */
function statusClass(res: Response): string {
  return res.writableFinished ? `${Math.floor(res.statusCode / 100)}xx` : 'aborted';
}

/** Reads one measure into its metric. Never throws: the other figures are worth an answer without this one. */
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
      // Both begin at 0, so adding the value sets it.
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

/** Runs all of `work`, unless that was begun less than `ms` ago: then it waits for that. */
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

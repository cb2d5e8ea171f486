/**
 * `GET /metrics` in the text format of Prometheus: metrics of the process and of its requests, and the measures that
 * the caller adds. It needs no token, like `/healthz`, unless METRICS_TOKEN is set.
 *
 * Guarantee: a measure that fails or takes over 2 seconds is omitted from the response and counted in
 * `muster_metrics_failed_reads_total`. A measure is read at most once in 5 seconds. Labels of requests come from
 * mounted routes, never from a raw path.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import type { Logger } from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { ApiError } from '../errors.ts';
import { safely } from '../telemetry.ts';
import { withTimeout } from '../timeouts.ts';
import { noSuchOperation, renderErrors } from './errors.ts';
import { routePattern } from './methods.ts';
import { responseHeaders } from './origins.ts';
import { pathOf, requestId, wasCut } from './requests.ts';
import { type Listening, listen } from './server.ts';

const FRESH_MS = 5_000;
const READ_MS = 2_000;

/**
 * Metrics whose names say that they are counters, and they are not; `nodejs_active_handles` and so on tell the same.
 */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Seconds; the long ones are for uploads and `Prefer: wait`. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A metric that is read when Prometheus asks. */
export interface Measure {
  /** A Prometheus name, such as `muster_mails_pending`. */
  name: string;
  help: string;
  /** Name of the label that distinguishes several values of one read. */
  label?: string;
  /** One value; or several, by label value. */
  read(): Promise<number | Record<string, number>>;
}

export interface Metrics {
  routes: Router;
}

export interface ApiMetrics extends Metrics {
  /** Counts and times every request; mount it before all routes. */
  observe: RequestHandler;
}

export interface MetricsOptions {
  measures: Measure[];
  /**
   * Holds the metrics that this process counts itself. Each call needs its own, as a process may run several
   * applications.
   */
  registry?: Registry;
  /** The bearer token that `/metrics` requires, if any. */
  token?: string | undefined;
}

/** Opens the metrics of a process, and its route `/metrics`. */
export function openMetrics({ measures, registry = new Registry(), token }: MetricsOptions): Metrics {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const failures = new Counter({
    name: 'muster_metrics_failed_reads_total',
    help: 'Reads of a measure that failed or took too long.',
    labelNames: ['measure'],
    registers: [registry],
  });
  const readers = measures.map((measure) => readerOf(registry, measure, failures));
  const readAll = atMostEvery(FRESH_MS, () => Promise.all(readers.map((read) => read())));
  const routes = Router();
  routes.get('/metrics', requireToken(token), async (_req, res) => {
    await readAll();
    res.type(registry.contentType).send(await registry.metrics());
  });
  return { routes };
}

/**
 * Serves `/metrics` of an API process on METRICS_PORT, which a firewall can keep from those who use the API.
 * @throws Error EADDRINUSE and the like
 */
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
      safely(() => {
        const labels = { method: req.method, route: routeOf(req), status: statusClass(res) };
        total.inc(labels);
        duration.observe(labels, (performance.now() - started) / 1000);
      });
    });
    next();
  };
}

/** The pattern of the request's route; `none` if no route matched it. */
export function routeOf(req: Request): string {
  return req.route ? routePattern(req.route.path, pathOf(req)) : 'none';
}

/** `2xx` and so on, `5xx` for a request that was cut at the end of its process; `aborted` if the caller disconnected before the response was sent. */
function statusClass(res: Response): string {
  if (wasCut(res)) return '5xx';
  return res.writableFinished ? `${Math.floor(res.statusCode / 100)}xx` : 'aborted';
}

/** Reads one measure into its metric. Never throws, as the other metrics are useful without this one. */
function readerOf(registry: Registry, measure: Measure, failures: Counter): () => Promise<void> {
  const { name, help, label } = measure;
  const metric = new Gauge({
    name,
    help,
    labelNames: label ? [label] : [],
    registers: [registry],
  });
  return async () => {
    try {
      const value = await withTimeout(measure.read(), READ_MS, name);
      metric.reset();
      if (typeof value === 'number') metric.set(value);
      else for (const [key, n] of Object.entries(value)) metric.set({ [label ?? '']: key }, n);
    } catch {
      failures.inc({ measure: name });
      metric.reset();
      if (!label) metric.remove();
    }
  };
}

/**
 * Does `work`, unless the last time began less than `ms` milliseconds ago; then returns what the last time returned.
 */
export function atMostEvery<T>(ms: number, work: () => Promise<T>): () => Promise<T> {
  let begun = Number.NEGATIVE_INFINITY;
  let last: Promise<T> | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - begun >= ms) {
      begun = now;
      last = work();
    }
    return last;
  };
}

/**
 * Answers 401 unless the request has the bearer token. Takes the same time for every wrong token.
 * @param token undefined: every request passes
 */
export function requireToken(token: string | undefined): RequestHandler {
  const expected = token === undefined ? undefined : digest(`bearer ${token}`);
  return (req, _res, next) => {
    const shown = (req.get('authorization') ?? '').replace(/^bearer +/i, 'bearer ');
    if (!expected || timingSafeEqual(expected, digest(shown))) return next();
    throw new ApiError('UNAUTHENTICATED', 'METRICS-TOKEN', 'Send the value of METRICS_TOKEN as a bearer token.');
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

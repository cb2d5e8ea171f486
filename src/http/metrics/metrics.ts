/**
 * `GET /metrics` in the text format of Prometheus: metrics of the process, and the measures that the caller
 * adds. It needs no token, like `/healthz`, unless METRICS_TOKEN is set.
 *
 * Guarantee: a measure that fails or takes over 2 seconds is omitted from the response and counted in
 * `muster_metrics_failed_reads_total`. A measure is read at most once in 5 seconds.
 */

import { Router } from 'express';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { withTimeout } from '../../timeout.ts';
import { requireToken } from './token.ts';

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

const FRESH_MS = 5_000;
const READ_MS = 2_000;

export interface MetricsOptions {
  measures: Measure[];
  /** Holds the metrics that this process counts itself. Each call needs its own, as a process may run several applications. */
  registry?: Registry;
  /** The bearer token that `/metrics` requires, if any. */
  token?: string | undefined;
}

/** Their names say that they are counters, and they are not; `nodejs_active_handles` and so on tell the same. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

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

/** Does `work`, unless the last time began less than `ms` ago; then returns what that returned. */
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

/** The metrics of a worker process: what it did. Loaded only if the process listens on HEALTH_PORT. */
import { Registry } from 'prom-client';
import type { Pool } from '../db/pool.ts';
import { type Metrics, openMetrics } from '../http/metrics/metrics.ts';
import { subscribe } from '../observations.ts';
import { importOutcomes } from './imports.ts';
import { count, countBy, distribution, distributionBy, type Instrument } from './instruments.ts';
import { buildInfo, processMeasures } from './process.ts';

/** Seconds. */
const BATCH_DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WAITS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 200, 400, 1000];
const ATTEMPTS = ['sent', 'retry', 'failed'];

const batches: Instrument = (registry) => {
  const size = distribution(registry, {
    name: 'muster_import_batch_users',
    help: 'Users in one batch.',
    buckets: BATCH_SIZES,
  });
  const duration = distribution(registry, {
    name: 'muster_import_batch_duration_seconds',
    help: 'Time that PostgreSQL takes for a batch.',
    buckets: BATCH_DURATIONS,
  });
  subscribe('batch', ({ users, seconds }) => {
    size(users);
    duration(seconds);
  });
};

const faults: Instrument = (registry) => {
  const about = {
    name: 'muster_import_faults_total',
    help: 'Attempts to write users that failed: retry (the connection), data (a row that PostgreSQL refuses), other (an error of Muster).',
    label: 'kind',
    values: ['retry', 'data', 'other'],
  };
  subscribe('importFault', countBy(registry, about));
};

const rescues: Instrument = (registry) => {
  const about = { name: 'muster_import_rescues_total', help: 'Stuck imports whose users were dispatched again.' };
  subscribe('rescues', count(registry, about));
  const uploads = { name: 'muster_uploads_removed_total', help: 'Abandoned uploads that were removed.' };
  subscribe('uploadsRemoved', count(registry, uploads));
};

const waits: Instrument = (registry) => {
  const wait = distributionBy(registry, {
    name: 'muster_queue_lag_seconds',
    help: 'Time that a job waited in its queue; of the jobs that start at the same moment, one is measured.',
    label: 'queue',
    values: ['imports', 'mails'],
    buckets: WAITS,
  });
  subscribe('jobStarted', ({ queue, waited }) => wait(queue, waited));
};

const deliveries: Instrument = (registry) => {
  const label = 'outcome';
  const mails = {
    name: 'muster_mail_attempts_total',
    help: 'Attempts to send a mail or a text message: sent, to be tried again (retry), or failed for good.',
  };
  subscribe('mail', countBy(registry, { ...mails, label, values: ATTEMPTS }));
  const webhooks = {
    name: 'muster_webhook_attempts_total',
    help: 'Attempts to deliver a webhook message: sent, to be tried again (retry), or failed for good.',
  };
  subscribe('webhook', countBy(registry, { ...webhooks, label, values: ATTEMPTS }));
};

/** @param token the bearer token that `/metrics` requires, if any */
export function openWorkerMetrics(pool: Pool, token?: string): Metrics {
  const registry = new Registry();
  for (const add of [buildInfo, importOutcomes, batches, faults, rescues, waits, deliveries]) add(registry);
  return openMetrics({ measures: processMeasures(pool), registry, token });
}

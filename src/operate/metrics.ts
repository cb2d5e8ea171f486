/**
 * The metrics of a process: what it does, and of an API process also the state of the stores. A label has known values
 * only, which are 0 from the start.
 *
 * Counts of what became of users and imports are kept by the process that did it: sum them over all processes. Every
 * API process reports the same about the stores, so queries take the `max` over processes; workers do not read them, so
 * that more workers cost the database nothing.
 */

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import packageJson from '../../package.json' with { type: 'json' };
import { IDP_TYPES } from '../contract/idp-presets.ts';
import { PROVIDER_FAILURES, SIGN_IN_FAILURES } from '../directory/sign-in-events.ts';
import type { Queues } from '../imports/queue/queues.ts';
import { clockSkew } from '../platform/db/clock.ts';
import { type Db, type Pool, type PoolUse, poolUse, prepared } from '../platform/db/pool.ts';
import type { Idps } from '../platform/db/tables.ts';
import { type ApiMetrics, type Measure, type Metrics, openMetrics, requestMetrics } from '../platform/http/metrics.ts';
import { END_STATES, FIRST_WAYS, lostRecords, subscribe } from '../platform/telemetry.ts';
import { openImports, outboxes, queueMeasures } from './store-metrics.ts';

/** In seconds; imports may run for a day. */
const DURATIONS = [0.05, 0.25, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400];

/** In seconds. */
const BATCH_DURATIONS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const WAITS = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 200, 400, 1000];
const ATTEMPTS = ['sent', 'retry', 'failed'];

const GRANT_TYPES = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
];

/** Adds metrics to the registry of a process. */
type Instrument = (registry: Registry) => void;

interface About {
  name: string;
  help: string;
}

/** The metrics of an API process. @param token the bearer token that `/metrics` requires, if any */
export function openApiMetrics(
  { pool, queues }: { pool: Pool; queues: Pick<Queues, 'depth' | 'workers'> },
  token?: string,
): ApiMetrics {
  const stores = [...queueMeasures(pool, queues), ...openImports(pool), ...outboxes(pool)];
  const registry = new Registry();
  for (const add of [buildInfo, importOutcomes, signIns, passwordSources, providersOf(pool), tokens]) add(registry);
  const { routes } = openMetrics({ measures: [...processMeasures(pool), ...stores], registry, token });
  return { routes, observe: requestMetrics(registry) };
}

/**
 * The metrics of a worker process. Loaded only if the process listens on HEALTH_PORT.
 * @param token the bearer token that `/metrics` requires, if any
 */
export function openWorkerMetrics(pool: Pool, token?: string): Metrics {
  const registry = new Registry();
  for (const add of [buildInfo, importOutcomes, batches, faults, rescues, waits, deliveries]) add(registry);
  return openMetrics({ measures: processMeasures(pool), registry, token });
}

/** The clock of the process, and its connections to PostgreSQL. */
function processMeasures(db: Db): Measure[] {
  return [
    {
      name: 'muster_clock_skew_seconds',
      help: 'How far the clock of this process is ahead of that of PostgreSQL; negative: behind.',
      read: () => clockSkew(db),
    },
    {
      name: 'muster_lost_records',
      help: 'Observations, spans and lines of the log that this process lost, as what takes them failed.',
      read: async () => lostRecords(),
    },
    ofPools('muster_db_pool_connections', 'Open connections to PostgreSQL, by pool.', 'connections'),
    ofPools('muster_db_pool_idle_connections', 'Open connections that no statement uses, by pool.', 'idle'),
    ofPools('muster_db_pool_max_connections', 'The most connections that the pool opens.', 'max'),
    ofPools('muster_db_pool_waiting_requests', 'Callers that wait for a connection, by pool.', 'waiting'),
  ];
}

function ofPools(name: string, help: string, what: keyof PoolUse): Measure {
  const read = async () => Object.fromEntries(Object.entries(poolUse()).map(([pool, use]) => [pool, use[what]]));
  return { name, help, label: 'pool', read };
}

const buildInfo: Instrument = (registry) =>
  facts(registry, {
    name: 'muster_build_info',
    help: 'The version of Muster and of Node.js that this process runs.',
    labels: { version: packageJson.version, node: process.versions.node },
  });

export const importOutcomes: Instrument = (registry) => {
  const users = countBy(registry, {
    name: 'muster_import_users_total',
    help: 'Users of imports whose outcome was committed, dry runs excepted. A user that is retried counts again.',
    label: 'outcome',
    values: ['succeeded', 'skipped', 'failed', 'undone'],
  });
  subscribe('users', (counts) => {
    for (const [outcome, n] of Object.entries(counts)) users(outcome, n);
  });
  const ended = countBy(registry, {
    name: 'muster_imports_ended_total',
    help: 'Imports that ended, by state. An import that is resumed, retried, corrected or undone ends again.',
    label: 'state',
    values: END_STATES,
  });
  const duration = distributionBy(registry, {
    name: 'muster_import_duration_seconds',
    help: 'Time from the acceptance of an import to its end, without the time in which it was paused or had ended.',
    label: 'kind',
    values: ['bulk', 'single'],
    buckets: DURATIONS,
  });
  subscribe('importEnded', ({ state, kind, seconds }) => {
    ended(state);
    if (state !== 'undone') duration(kind, seconds);
  });
};

const signIns: Instrument = (registry) => {
  const about = {
    name: 'muster_signins_total',
    help: 'Sign-ins on the login page and by POST /v2beta/sessions: succeeded, or why they failed.',
    label: 'outcome',
    values: ['succeeded', ...SIGN_IN_FAILURES],
  };
  subscribe('signIn', countBy(registry, about));
  const first = {
    name: 'muster_first_signins_total',
    help: 'First sign-ins of users whom an import created, by way.',
    label: 'way',
    values: FIRST_WAYS,
  };
  subscribe('firstSignIn', countBy(registry, first));
};

const passwordSources: Instrument = (registry) => {
  const about = {
    name: 'muster_password_source_checks_total',
    help: 'Passwords that were verified at a password source, by its answer: yes, no, unavailable.',
    label: 'answer',
    values: ['yes', 'no', 'unavailable'],
  };
  subscribe('passwordSource', countBy(registry, about));
};

const PROVIDER_OUTCOMES: readonly string[] = ['succeeded', 'confirm', ...PROVIDER_FAILURES];

/** Providers are counted by type: their ids and names are chosen by customers. */
function providersOf(db: Db): Instrument {
  const typeOf = rememberedTypes(db);
  return (registry) => {
    const counter = new Counter({
      name: 'muster_provider_signins_total',
      help: 'Answers of external identity providers, by the type of the provider: signed in, asked to confirm, or why not.',
      labelNames: ['type', 'outcome'],
      registers: [registry],
    });
    for (const type of IDP_TYPES) for (const outcome of PROVIDER_OUTCOMES) counter.inc({ type, outcome }, 0);
    subscribe('provider', ({ idpId, outcome }) => {
      const known = PROVIDER_OUTCOMES.includes(outcome) ? outcome : 'other';
      void typeOf(idpId).then((type) => counter.inc({ type, outcome: known }));
    });
  };
}

const MOST_REMEMBERED = 10_000;

/** The type of a provider, which never changes; `other` if it cannot be read. */
function rememberedTypes(db: Db): (idpId: string) => Promise<string> {
  const types = new Map<string, string>();
  return async (idpId) => {
    const known = types.get(idpId);
    if (known !== undefined) return known;
    const text = 'select type from idps where id = $1';
    const { rows } = await db.query<Pick<Idps, 'type'>>(prepared(text, [idpId])).catch(() => ({ rows: [] }));
    const [row] = rows;
    if (!row) return 'other';
    if (types.size >= MOST_REMEMBERED) types.clear();
    types.set(idpId, row.type);
    return row.type;
  };
}

const tokens: Instrument = (registry) => {
  const about = {
    name: 'muster_tokens_issued_total',
    help: 'Successful requests to the token endpoint, by grant type.',
    label: 'grant_type',
    values: GRANT_TYPES,
  };
  subscribe('token', countBy(registry, about));
};

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
    values: ['imports', 'hashes', 'mails'],
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

/** @returns adds to the counter; a value that is not listed counts as `other` */
function countBy(
  registry: Registry,
  { label, values, ...about }: About & { label: string; values: readonly string[] },
): (value: string, n?: number) => void {
  const counter = new Counter({ ...about, labelNames: [label], registers: [registry] });
  for (const value of values) counter.inc({ [label]: value }, 0);
  return (value, n = 1) => counter.inc({ [label]: values.includes(value) ? value : 'other' }, n);
}

function count(registry: Registry, about: About): (n: number) => void {
  const counter = new Counter({ ...about, registers: [registry] });
  return (n) => counter.inc(n);
}

function distribution(registry: Registry, about: About & { buckets: number[] }): (value: number) => void {
  const histogram = new Histogram({ ...about, registers: [registry] });
  return (value) => histogram.observe(value);
}

function distributionBy(
  registry: Registry,
  { label, values, ...about }: About & { label: string; values: readonly string[]; buckets: number[] },
): (labelValue: string, value: number) => void {
  const histogram = new Histogram({ ...about, labelNames: [label], registers: [registry] });
  for (const value of values) histogram.zero({ [label]: value });
  return (labelValue, value) => histogram.observe({ [label]: labelValue }, value);
}

/** A metric that is always 1, whose labels tell facts. */
function facts(registry: Registry, { labels, ...about }: About & { labels: Record<string, string> }): void {
  new Gauge({ ...about, labelNames: Object.keys(labels), registers: [registry] }).set(labels, 1);
}

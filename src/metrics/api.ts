/**
 * The metrics of an API process: its own, and those of the stores. Every API process reports the same about the stores,
 * so queries take the `max` over processes; workers do not read them, so that more workers cost the database nothing.
 */
import { Registry } from 'prom-client';
import { SIGN_IN_FAILURES } from '../audit/sign-ins.ts';
import type { Pool } from '../db/pool.ts';
import { openMetrics } from '../http/metrics/metrics.ts';
import { type ApiMetrics, requestMetrics } from '../http/metrics/requests.ts';
import { subscribe } from '../observations.ts';
import type { Queues } from '../queue/queues.ts';
import { importOutcomes } from './imports.ts';
import { countBy, type Instrument } from './instruments.ts';
import { buildInfo, processMeasures } from './process.ts';
import { openImports } from './stores/imports.ts';
import { outboxes } from './stores/mails.ts';
import { queueMeasures } from './stores/queues.ts';

const GRANT_TYPES = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:device_code',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
];

const signIns: Instrument = (registry) => {
  const about = {
    name: 'muster_signins_total',
    help: 'Sign-ins on the login page and by POST /v2beta/sessions: succeeded, or why they failed.',
    label: 'outcome',
    values: ['succeeded', ...SIGN_IN_FAILURES],
  };
  subscribe('signIn', countBy(registry, about));
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

const tokens: Instrument = (registry) => {
  const about = {
    name: 'muster_tokens_issued_total',
    help: 'Successful requests to the token endpoint, by grant type.',
    label: 'grant_type',
    values: GRANT_TYPES,
  };
  subscribe('token', countBy(registry, about));
};

/** @param token the bearer token that `/metrics` requires, if any */
export function openApiMetrics(
  { pool, queues }: { pool: Pool; queues: Pick<Queues, 'depth' | 'workers'> },
  token?: string,
): ApiMetrics {
  const stores = [...queueMeasures(pool, queues), ...openImports(pool), ...outboxes(pool)];
  const registry = new Registry();
  for (const add of [buildInfo, importOutcomes, signIns, passwordSources, tokens]) add(registry);
  const { routes } = openMetrics({ measures: [...processMeasures(pool), ...stores], registry, token });
  return { routes, observe: requestMetrics(registry) };
}

/**
 * Muster as it runs in earnest: API and worker processes of their own over a fresh database, a queue of its own on the
 * backend of choice, and a real SMTP server that keeps the mails.
 *
 * Guarantee: `stop` leaves no process behind, frozen ones neither; if the test itself dies they end by themselves.
 */
import { randomBytes } from 'node:crypto';
import test, { type TestContext } from 'node:test';
import type { Pool } from '../../src/db/pool.ts';
import { openQueues, type QueueName } from '../../src/queue/queues.ts';
import { type Answer, type CallOptions, unique } from './api.ts';
import { type Exit, startChild, type TestProcess } from './child.ts';
import { testDatabase } from './postgres.ts';
import { redisUrl, requireOrSkip } from './redis.ts';
import { type SmtpCatcher, startSmtp } from './smtp.ts';
import { waitFor } from './wait.ts';

export const BACKENDS = ['redis', 'postgres'] as const;
export type Backend = (typeof BACKENDS)[number];

/** One test per queue backend; that on Redis is skipped by name where there is no redis-server. */
export function onBothBackends(name: string, run: (t: TestContext, backend: Backend) => Promise<void>): void {
  for (const backend of BACKENDS) {
    test(`${name} (queue on ${backend})`, async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      await run(t, backend);
    });
  }
}

export interface ServiceOptions {
  backend: Backend;
  /** Settings of all processes, as environment variables. */
  env?: Record<string, string>;
  /** Worker processes to begin with; 1 unless told. */
  workers?: number;
  /** Another database than a fresh one of the run's server; it is not removed. */
  database?: { url: string; pool: Pool };
  /** Another Redis than the run's. */
  redisUrl?: string;
  /** Runs when all processes have ended: for stores of the test's own. */
  onStopped?: () => Promise<void>;
}

export interface ApiProcess extends TestProcess {
  url: string;
}

export interface ServiceCall extends CallOptions {
  /** Which API process; the first unless told. */
  url?: string;
}

export interface Service {
  backend: Backend;
  redisUrl: string | undefined;
  queuePrefix: string;
  /** Of the API that was started last. */
  readonly url: string;
  /** Token of the instance's administrator. */
  token: string;
  pool: Pool;
  smtp: SmtpCatcher;
  /** Everything that was started, in order, living or not. */
  processes: TestProcess[];
  apis: ApiProcess[];
  startApi(env?: Record<string, string>): Promise<ApiProcess>;
  startWorker(env?: Record<string, string>): Promise<TestProcess>;
  /** Sends a JSON body; a string or bytes go as they are. An answer that is not JSON comes as text. */
  call(method: string, path: string, body?: unknown, options?: ServiceCall): Promise<Answer>;
  /** An organization, and a machine user who owns it. */
  newOrg(orgId?: string): Promise<TestOrg>;
  /** A machine user of the organization with a token. */
  machine(orgId: string, roles: string[]): Promise<{ userId: string; token: string }>;
  /** Sends a bulk import. */
  importBody(body: unknown, options?: ServiceCall & { query?: string }): Promise<Answer>;
  /** The result once the import has ended. */
  waitForEnd(importId: string, options?: ServiceCall & { timeoutMs?: number }): Promise<Answer['body']>;
  /** Jobs that wait or run. */
  depth(queue?: QueueName): Promise<number>;
  /** Throws away all jobs, as a queue that lost its memory. */
  loseJobs(queue?: QueueName): Promise<void>;
  /** Ends all processes; every one that is asked to stop must do so cleanly. */
  stop(): Promise<void>;
}

export interface TestOrg {
  orgId: string;
  domain: string;
  ownerToken: string;
}

/** Timings small enough for tests; any of them may be replaced. */
const TIMINGS = {
  RESCUE_AFTER_MS: '1000',
  JOB_LOCK_MS: '2000',
  ABANDONED_AFTER_MS: '60000',
  STOP_AFTER_MS: '10000',
  SINGLE_IMPORT_TIMEOUT_MS: '10000',
  HASH_THREADS: '1',
};

/** Starts a service with one API; it is stopped when the test is over. */
export async function startService(t: TestContext, options: ServiceOptions): Promise<Service> {
  const { backend } = options;
  const own = options.database ? undefined : await testDatabase();
  const { url: databaseUrl, pool } = (options.database ?? own) as { url: string; pool: Pool };
  const smtp = await startSmtp();
  const token = randomBytes(24).toString('base64url');
  const redis: { REDIS_URL?: string } =
    backend === 'redis' ? { REDIS_URL: options.redisUrl ?? (redisUrl() as string) } : {};
  const QUEUE_PREFIX = `s${randomBytes(6).toString('hex')}`;
  const env = {
    ...TIMINGS,
    ...redis,
    DATABASE_URL: databaseUrl,
    SMTP_URL: smtp.url,
    QUEUE_PREFIX,
    BOOTSTRAP_TOKEN: token,
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    ...options.env,
  };
  const queues = openQueues({ ...redis, DATABASE_URL: databaseUrl, QUEUE_PREFIX });
  const processes: TestProcess[] = [];
  const apis: ApiProcess[] = [];
  let url = '';

  const service: Service = {
    backend,
    redisUrl: redis.REDIS_URL,
    queuePrefix: QUEUE_PREFIX,
    get url() {
      return url;
    },
    token,
    pool,
    smtp,
    processes,
    apis,
    async startApi(changes) {
      const child = await startChild('src/api.ts', { ...env, ...changes });
      processes.push(child);
      url = `http://127.0.0.1:${child.ready.port}`;
      const api = Object.assign(child, { url });
      apis.push(api);
      return api;
    },
    async startWorker(changes) {
      // Workers write the links of mails.
      const child = await startChild('workers/all-in-one.ts', { ...env, BASE_URL: url, ...changes });
      processes.push(child);
      return child;
    },
    call: (method, path, body, given) => call(given?.url ?? url, token, method, path, body, given),
    newOrg: (orgId) => newOrg(service, orgId),
    machine: (orgId, roles) => machine(service, orgId, roles),
    importBody: (body, { query = '', ...given } = {}) => service.call('POST', `/admin/v1/import${query}`, body, given),
    waitForEnd: (importId, given) => waitForEnd(service, importId, given),
    depth: (queue = 'imports') => queues.depth(queue),
    loseJobs: (queue = 'imports') => queues.drop(queue),
    async stop() {
      await Promise.all([endAll(processes), queues.close()])
        .finally(() => Promise.all([smtp.stop(), own?.drop()]))
        .finally(options.onStopped);
    },
  };
  t.after(() => service.stop());
  await service.startApi();
  await Promise.all(Array.from({ length: options.workers ?? 1 }, () => service.startWorker()));
  return service;
}

async function call(
  url: string,
  admin: string,
  method: string,
  path: string,
  body: unknown,
  { token = admin, orgId, headers }: ServiceCall = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(orgId === undefined ? {} : { 'x-service-orgid': orgId }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: isJson ? JSON.parse(text) : text, headers: response.headers };
}

/** @throws Error when the answer is none of success */
export async function must(answer: Promise<Answer>): Promise<Answer> {
  const { status, body, headers } = await answer;
  if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(body)}`);
  return { status, body, headers };
}

async function newOrg(service: Service, orgId?: string): Promise<TestOrg> {
  const made = await must(service.call('POST', '/management/v1/orgs', { name: unique('Acme'), orgId }));
  const { id } = made.body;
  const me = await must(service.call('GET', '/management/v1/orgs/me', undefined, { orgId: id }));
  const { token } = await service.machine(id, ['ORG_OWNER']);
  return { orgId: id, domain: me.body.org.primaryDomain, ownerToken: token };
}

async function machine(service: Service, orgId: string, roles: string[]): Promise<{ userId: string; token: string }> {
  const name = unique('machine');
  const made = await must(service.call('POST', '/management/v1/users/machine', { userName: name, name }, { orgId }));
  const { userId } = made.body;
  await must(service.call('POST', '/management/v1/orgs/me/members', { userId, roles }, { orgId }));
  const { token } = (await must(service.call('POST', `/management/v1/users/${userId}/pats`, {}, { orgId }))).body;
  return { userId, token };
}

async function waitForEnd(
  service: Service,
  importId: string,
  { timeoutMs = 60_000, ...given }: ServiceCall & { timeoutMs?: number } = {},
): Promise<Answer['body']> {
  let last = 'no answer yet';
  return waitFor(
    async () => {
      const { body } = await must(service.call('GET', `/admin/v1/imports/${importId}`, undefined, given));
      last = JSON.stringify(body.counts);
      return body.state === 'IMPORT_STATE_RUNNING' ? undefined : body;
    },
    { what: `the end of import ${importId}`, timeoutMs },
  ).catch((error) => {
    throw new Error(`${error.message}; counts: ${last}`);
  });
}

const STOP_WITHIN_MS = 15_000;

/** Asks those that live to stop, frozen ones too; @throws Error naming each that did not do so cleanly */
async function endAll(processes: TestProcess[]): Promise<void> {
  const living = processes.filter((p) => !p.isOver);
  const exits = await Promise.all(
    living.map(async (p): Promise<Exit> => {
      p.kill('SIGCONT');
      p.kill('SIGTERM');
      const force = setTimeout(() => p.kill('SIGKILL'), STOP_WITHIN_MS);
      return p.exited.finally(() => clearTimeout(force));
    }),
  );
  const unclean = living.filter((_, i) => exits[i]?.code !== 0);
  if (unclean.length === 0) return;
  throw new Error(`did not stop cleanly:\n${unclean.map((p) => p.output().slice(-2000)).join('\n')}`);
}

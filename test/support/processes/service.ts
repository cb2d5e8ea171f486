export { must, type ServiceCall } from '../calls.ts';

import { randomBytes } from 'node:crypto';
import test, { type TestContext } from 'node:test';
import { type AnyQueue, openQueues } from '../../../src/imports/queue/queues.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import type { Answer } from '../answers.ts';
import { type Calls, must, openCalls, type ServiceCall } from '../calls.ts';
import { type SmtpCatcher, startSmtp } from '../smtp.ts';
import { abandonLocks } from '../stores/locks.ts';
import { startPgBouncer } from '../stores/pgbouncer.ts';
import { testDatabase } from '../stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../stores/redis.ts';
import { addSigningKey } from '../stores/signing-key.ts';
import { waitFor } from '../wait.ts';
import { type Fleet, openFleet } from './fleet.ts';
/**
 * Muster as in production: separate API and worker processes on a new database, a new queue on the chosen backend, and
 * a real SMTP server that keeps the mails.
 */

export const BACKENDS = ['redis', 'postgres'] as const;
export type Backend = (typeof BACKENDS)[number];
/** `npm test` leaves the other backend to `npm run test:stores`. */
const CHOSEN = BACKENDS.filter((name) => (process.env.TEST_BACKENDS ?? name).split(',').includes(name));

/** `npm run test:unbatched` sends BullMQ's calls one by one. */
const BATCHING: 'on' | 'off' = process.env.QUEUE_BATCHING === 'off' ? 'off' : 'on';
/** `npm run test:pooled` puts PgBouncer before each database, which shares sessions between transactions. */
const POOLED = process.env.TEST_POOLED !== undefined;
/** When the run is on other stores than the usual ones. */
const STORES = process.env.TEST_STORES_NAME ? `; ${process.env.TEST_STORES_NAME}` : '';

type OnBackend = (t: TestContext, backend: Backend) => Promise<void>;

/** One test per queue backend of this run; the one on Redis is reported as skipped where there is no redis-server. */
export function onEachBackend(name: string, run: OnBackend): void {
  onBackends(CHOSEN, name, run);
}

/**
 * One test, for what happens before the first job is added or beside the queue. `npm test` has Redis as its queue, if
 * there is one, and `npm run test:stores` PostgreSQL. `npm run test:unbatched` leaves out files that use only this.
 */
export function onOneBackend(name: string, run: OnBackend): void {
  onBackends(CHOSEN.slice(-1), name, run);
}

function onBackends(backends: readonly Backend[], name: string, run: OnBackend): void {
  for (const backend of backends) {
    test(`${name} (queue on ${backend}${STORES})`, async (t) => {
      if (backend === 'redis' && !requireOrSkip(t, 'redis')) return;
      await run(t, backend);
    });
  }
}

export interface ServiceOptions {
  backend: Backend;
  /** Settings of all processes, as environment variables. */
  env?: Record<string, string>;
  /** Number of worker processes at the start; default: 1. */
  workers?: number;
  /** A database to use instead of a new one on the run's server; it is not removed. */
  database?: { url: string; pool: Pool };
  /** A Redis to use instead of the run's. */
  redisUrl?: string;
  /** Start processes only by their entry files: for tests of signals, exit codes and memory. */
  ownProcesses?: boolean;
  /** Runs when all processes have ended: for the test's own stores. */
  onStopped?: () => Promise<void>;
}

export interface Service extends Calls, Omit<Fleet, 'stop'> {
  backend: Backend;
  databaseUrl: string;
  redisUrl: string | undefined;
  queuePrefix: string;
  /** Token of the instance's administrator. */
  token: string;
  pool: Pool;
  smtp: SmtpCatcher;
  /** The result once the import has ended. */
  waitForEnd(importId: string, options?: ServiceCall & { timeoutMs?: number }): Promise<Answer['body']>;
  /** The result of a bulk import that was accepted, once it has ended. */
  imported(body: unknown): Promise<Answer['body']>;
  /** Number of jobs that wait or run. */
  depth(queue?: AnyQueue): Promise<number>;
  /** Removes all jobs, as if the queue had lost its data. */
  loseJobs(queue?: AnyQueue): Promise<void>;
}

/** Short intervals, so that tests need not wait; limits are generous. All of them can be overridden. */
const TIMINGS = {
  RESCUE_AFTER_MS: '1000',
  JOB_LOCK_MS: '30000',
  ABANDONED_AFTER_MS: '60000',
  // Longer than any machine needs, as some tests stop workers that still hash.
  STOP_AFTER_MS: '300000',
  SINGLE_IMPORT_TIMEOUT_MS: '60000',
  HASH_THREADS: '1',
};

/** Starts a service with one API; it stops at the end of the test, and every process must stop cleanly. */
export async function startService(t: TestContext, options: ServiceOptions): Promise<Service> {
  const own = options.database ? undefined : await testDatabase();
  const { url: databaseUrl, pool } = (options.database ?? own) as { url: string; pool: Pool };
  const smtp = await startSmtp();
  const bouncer = own && POOLED ? await startPgBouncer(own.url) : undefined;
  const settings = settingsOf(options, databaseUrl, smtp, bouncer?.url);
  const fleet = openFleet({ env: settings, ownProcesses: options.ownProcesses ?? false });
  const { QUEUE_SHARDS } = settings;
  const queues = openQueues({ ...settings, QUEUE_SHARDS: QUEUE_SHARDS ? Number(QUEUE_SHARDS) : undefined });
  t.after(async () => {
    abandonLocks(pool);
    await Promise.all([fleet.stop(), queues.close()])
      .finally(() => bouncer?.stop())
      .finally(() => Promise.all([smtp.stop(), own?.drop()]))
      .finally(options.onStopped);
  });
  if (own) await addSigningKey(pool, openSecrets(settings.ENCRYPTION_KEY));
  const token = settings.BOOTSTRAP_TOKEN;
  const calls = openCalls(() => fleet.url, token);
  await fleet.startApi();
  await Promise.all(Array.from({ length: options.workers ?? 1 }, () => fleet.startWorker()));
  return {
    ...calls,
    ...fleet,
    get url() {
      return fleet.url;
    },
    backend: options.backend,
    databaseUrl,
    redisUrl: settings.REDIS_URL,
    queuePrefix: settings.QUEUE_PREFIX,
    token,
    pool,
    smtp,
    waitForEnd: (importId, given) => waitForEnd(pool, calls, importId, given),
    async imported(body) {
      const { importId } = (await must(calls.importBody(body))).body;
      return waitForEnd(pool, calls, importId);
    },
    depth: (queue = 'imports') => queues.depth(queue),
    loseJobs: (queue = 'imports') => queues.drop(queue),
  };
}

function settingsOf(options: ServiceOptions, databaseUrl: string, smtp: SmtpCatcher, pooledUrl?: string) {
  const redis: { REDIS_URL?: string; QUEUE_SHARDS?: string } =
    options.backend === 'redis' ? { REDIS_URL: options.redisUrl ?? (redisUrl() as string) } : {};
  return {
    ...TIMINGS,
    ...redis,
    DATABASE_URL: pooledUrl ?? databaseUrl,
    ...(pooledUrl ? { DATABASE_DIRECT_URL: databaseUrl } : {}),
    SMTP_URL: smtp.url,
    QUEUE_PREFIX: `s${randomBytes(6).toString('hex')}`,
    BOOTSTRAP_TOKEN: randomBytes(24).toString('base64url'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    QUEUE_BATCHING: BATCHING,
    ...options.env,
  };
}

async function waitForEnd(
  pool: Pool,
  { call }: Calls,
  importId: string,
  { timeoutMs = 180_000, ...given }: ServiceCall & { timeoutMs?: number } = {},
): Promise<Answer['body']> {
  // Reading the row is cheaper than reading the result, and workers need the processor.
  const row = async () => (await pool.query('select * from imports where id = $1', [importId])).rows[0];
  const what = `the end of import ${importId}`;
  await waitFor(async () => (await row()).state !== 'running', { what, timeoutMs }).catch(async (error) => {
    throw new Error(`${error.message}: ${JSON.stringify(await row())}`);
  });
  return (await must(call('GET', `/admin/v1/imports/${importId}`, undefined, given))).body;
}

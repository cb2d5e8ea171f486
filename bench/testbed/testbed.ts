/**
 * The testbed: the stores, and the service on them in the processes of `npm start`, or with workers that are started
 * separately, where they need other settings or other routes to the stores.
 *
 * Guarantee: everything is in its own folder and is removed with its scope. The stores are separate from the service,
 * so that the ceiling is measured on the same servers after the service has stopped.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnv, readConfig } from '../../src/platform/config.ts';
import { MIGRATION_MS } from '../../src/platform/db/client.ts';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool, type Pool } from '../../src/platform/db/pool.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { type Child, type Muster, startChild, startMuster } from '../../src/start/muster.ts';
import type { Roles } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { type Client, openClient } from './client.ts';
import { type RunningRedis, startDistribution, startRedis } from './stores.ts';

export interface Stores {
  dir: string;
  databaseUrl: string;
  /** For the bench's own queries. */
  pool: Pool;
  redis?: RunningRedis | undefined;
  /** Secrets of the instance that the first service creates in the database. */
  keys: { token: string; encryptionKey: string };
  roles(): Roles;
  /** Set if PostgreSQL is not the embedded one. */
  server?: { version: string; settings: Record<string, string> };
}

interface WantedStores {
  redis: boolean;
  /** Use another PostgreSQL instead, with its own settings: the folder of its programs. */
  programs?: string;
  /** Connect to the embedded PostgreSQL over TCP, not over its socket. */
  tcp?: boolean;
}

/** Starts PostgreSQL and, if wanted, Redis, both empty. */
export async function startStores(scope: Scope, wanted: WantedStores): Promise<Stores> {
  const dir = await scope.start(makeFolder, (path) => rm(path, { recursive: true, force: true }));
  const { programs } = wanted;
  const other = programs ? await startDistribution(scope, programs, join(dir, 'postgres')) : undefined;
  const postgres = other ?? (await startEmbedded(scope, dir, wanted));
  const redis = wanted.redis ? await startRedis(scope, join(dir, 'redis')) : undefined;
  const pool = await scope.start(
    // Building an index of 20 million users takes minutes.
    async () => openPool(postgres.url, { max: 2, name: 'bench', statementMs: MIGRATION_MS }),
    (opened) => opened.end(),
  );
  return {
    dir,
    databaseUrl: postgres.url,
    pool,
    redis,
    keys: { token: randomBytes(24).toString('hex'), encryptionKey: randomBytes(32).toString('base64') },
    roles: () => ({ postgres: [postgres.pid], ...(redis ? { redis: [redis.pid] } : {}) }),
    ...(other ? { server: other } : {}),
  };
}

async function startEmbedded(
  scope: Scope,
  dir: string,
  { tcp }: WantedStores,
): Promise<{ url: string; readonly pid: number }> {
  const server = await scope.start(
    () => startEmbeddedPostgres({ dataDir: join(dir, 'data'), background: true }),
    (running) => running.stop(),
  );
  const url = new URL(server.url);
  if (tcp) url.searchParams.delete('host');
  return {
    url: url.toString(),
    get pid() {
      return server.pid;
    },
  };
}

async function makeFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  // As root, we run PostgreSQL as another user, which must reach its folder inside this one.
  await chmod(dir, 0o711);
  return dir;
}

export interface Service {
  baseUrl: string;
  client: Client;
  /** An empty organization. */
  orgId: string;
  apiPid: number;
  /** API and workers. */
  roles(): Roles;
}

/**
 * Starts the API and `workers` worker processes. The queue is on Redis, if `stores` has one, else on PostgreSQL.
 * @param settings override the testbed's
 */
export async function startService(
  scope: Scope,
  stores: Stores,
  workers: number,
  settings: Record<string, string> = {},
): Promise<Service> {
  const muster = await scope.start(
    () => startMuster(serviceConfig(stores, workers, settings), { logger: SILENT, output: 'ignore' }),
    (running) => running.stop(),
  );
  const client = await scope.start(
    async () => openClient(muster.baseUrl, stores.keys.token),
    async (opened) => opened.close(),
  );
  const { id } = await client.call('POST', '/management/v1/orgs', { name: `Bench ${randomBytes(4).toString('hex')}` });
  return {
    baseUrl: muster.baseUrl,
    client,
    orgId: id as string,
    apiPid: muster.pids.api as number,
    roles: () => rolesOf(muster),
  };
}

const SILENT = openLogger({ level: 'silent', name: 'bench' });

/** The defaults; the environment may override settings that do not define the testbed (WORKER_CONCURRENCY …). */
function serviceConfig(stores: Stores, workers: number, settings: Record<string, string>) {
  return readConfig(
    childEnv({
      HOST: '127.0.0.1',
      PORT: '0',
      BASE_URL: undefined,
      HEALTH_PORT: undefined,
      DATA_DIR: join(stores.dir, 'data'),
      DATABASE_URL: stores.databaseUrl,
      REDIS_URL: stores.redis?.url,
      SMTP_URL: undefined,
      BOOTSTRAP_TOKEN: stores.keys.token,
      ENCRYPTION_KEY: stores.keys.encryptionKey,
      ADMIN_EMAIL: undefined,
      ADMIN_PASSWORD: undefined,
      WORKERS: String(workers),
      WORKER_ROLES: undefined,
      LOG_LEVEL: 'warn',
      ...settings,
    }),
  );
}

function rolesOf({ pids }: Muster): Roles {
  return { api: [pids.api as number], ...(pids.workers.length > 0 ? { worker: pids.workers as number[] } : {}) };
}

/** Cleans up the database, so that the next measurement does not pay for the previous one. */
export async function settle({ pool }: Stores): Promise<void> {
  await pool.query('vacuum (analyze)');
  await pool.query('checkpoint');
}

const WORKER_FILE = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));
const STOP_AFTER_MS = 15_000;

interface Apart {
  /** Settings that override the defaults and `stores`. */
  settings?: Record<string, string>;
  /** Options for Node.js. */
  execArgv?: string[];
  /** An open file for their logs, which are otherwise discarded. */
  log?: number;
}

/**
 * Starts `count` worker processes separately from the API, and waits until they are ready. They are the processes of
 * `npm run worker`, started in the same way as by `npm start`.
 * @returns their process ids
 */
export async function startWorkers(scope: Scope, stores: Stores, count: number, apart: Apart = {}): Promise<number[]> {
  const start = (n: number) =>
    scope.start(
      () => startOne(stores, `worker ${n + 1}`, apart),
      (worker) => worker.stop(),
    );
  const workers = await Promise.all(Array.from({ length: count }, (_, n) => start(n)));
  return workers.map((worker) => worker.pid as number);
}

function startOne(stores: Stores, name: string, { settings, execArgv, log }: Apart): Promise<Child> {
  return startChild({
    name,
    file: WORKER_FILE,
    execArgv,
    env: childEnv({ ...workerSettings(stores), ...settings }),
    logger: SILENT,
    stopAfterMs: STOP_AFTER_MS,
    output: log ?? 'ignore',
  });
}

/** The defaults, as for the service; the environment may override settings that do not define the testbed. */
function workerSettings(stores: Stores): Record<string, string | undefined> {
  return {
    HOST: '127.0.0.1',
    BASE_URL: undefined,
    HEALTH_PORT: undefined,
    DATA_DIR: join(stores.dir, 'data'),
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redis?.url,
    SMTP_URL: undefined,
    MAIL_RATE: undefined,
    MAIL_RATE_PER_IMPORT: undefined,
    ENCRYPTION_KEY: stores.keys.encryptionKey,
    WORKER_ROLES: undefined,
    LOG_LEVEL: 'warn',
  };
}

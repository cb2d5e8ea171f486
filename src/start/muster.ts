/**
 * All of Muster under one parent: stores, API and workers, started and stopped in order.
 *
 * Guarantees: what cannot work is refused in one sentence before anything is written; whatever was started is stopped
 * again when a later part fails. Stopping drains the API, then the workers, then ends the embedded database. If we die
 * here the children drain by themselves, and the database follows them.
 */
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { type Config, childEnv } from '../config.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded/embedded.ts';
import { openPool } from '../db/pool.ts';
import { requireStores } from '../lifecycle.ts';
import { openLogger } from '../logger.ts';
import { claimPort } from './address.ts';
import { type Child, startChild } from './child.ts';
import { prepareDatabase } from './database.ts';
import { keptEncryptionKey } from './encryption-key.ts';
import { API_OPTIONS, WORKER_OPTIONS } from './v8-options.ts';

const API = fileURLToPath(new URL('../api.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));

export interface StartOptions {
  logger?: Logger;
  /** Where the children's logs go. */
  output?: 'inherit' | 'ignore';
  /** Told the first administrator's token the moment it is made: nothing keeps it, even if the start fails later. */
  onToken?: (token: string) => void;
  /** Entry files, for tests of the start itself. */
  files?: { api: string; worker: string };
}

export interface Muster {
  /** Public address of the API. */
  baseUrl: string;
  /** Token of the first administrator, when it was made by this start. */
  token?: string;
  /** Of the database, embedded or not. */
  databaseUrl: string;
  readonly pids: { api: number | undefined; workers: (number | undefined)[]; postgres: number | undefined };
  /** Drains and ends everything. Idempotent. */
  stop(): Promise<void>;
  /** Ends everything at once; the embedded database by its fast shutdown. */
  force(): void;
}

/**
 * Starts everything. PORT 0 takes a free port.
 * @throws StartError, ConfigError with a sentence for the one who starts it
 */
export async function startMuster(given: Config, options: StartOptions = {}): Promise<Muster> {
  if (given.DATABASE_URL) requireStores(given);
  const logger = options.logger ?? openLogger({ level: given.LOG_LEVEL, name: 'muster' });
  const config = await withAddress({ ...given, DATA_DIR: resolve(given.DATA_DIR) });
  const postgres = config.DATABASE_URL ? undefined : await startPostgres(config, logger);
  const children: Child[] = [];
  try {
    const resolved = await withStores(config, postgres);
    const { token } = await prepareDatabase(resolved.DATABASE_URL as string, resolved);
    if (token) options.onToken?.(token);
    await startChildren(resolved, logger, options, children);
    return running(resolved, token, children, postgres);
  } catch (error) {
    await stopAll(children, postgres);
    throw error;
  }
}

/** Makes the port known before anybody is told the address. */
async function withAddress(config: Config): Promise<Config> {
  const port = await claimPort(config.HOST, config.PORT);
  if (port === config.PORT || config.BASE_URL) return { ...config, PORT: port };
  return { ...config, PORT: port, baseUrl: config.baseUrl.replace(/:0$/, `:${port}`) };
}

function startPostgres(config: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: config.DATA_DIR, log: (line) => logger.info(line) });
}

async function withStores(config: Config, postgres: EmbeddedPostgres | undefined): Promise<Config> {
  if (!postgres) return config;
  const stores = { ...config, DATABASE_URL: postgres.url };
  if (config.ENCRYPTION_KEY) return stores;
  const pool = openPool(postgres.url, { max: 1, name: 'muster start' });
  try {
    return { ...stores, ENCRYPTION_KEY: await keptEncryptionKey(config.DATA_DIR, pool) };
  } finally {
    await pool.end();
  }
}

async function startChildren(config: Config, logger: Logger, options: StartOptions, started: Child[]): Promise<void> {
  const files = options.files ?? { api: API, worker: WORKER };
  const shared = { logger, stopAfterMs: config.STOP_AFTER_MS, output: options.output ?? ('inherit' as const) };
  const starts = [
    startChild({ ...shared, name: 'api', file: files.api, execArgv: API_OPTIONS, env: envOf(config, 0) }),
  ];
  for (let i = 0; i < config.WORKERS; i++) {
    const worker = { name: `worker ${i + 1}`, file: files.worker, execArgv: WORKER_OPTIONS, env: envOf(config, i) };
    starts.push(startChild({ ...shared, ...worker }));
  }
  const outcomes = await Promise.allSettled(starts);
  for (const outcome of outcomes) if (outcome.status === 'fulfilled') started.push(outcome.value);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** The settings as a child reads them again. Workers on one machine need a health port each. */
function envOf(config: Config, index: number): Record<string, string | undefined> {
  const settings = Object.entries(config).filter(([name]) => name === name.toUpperCase());
  const texts = settings.map(([name, value]) => [name, value === undefined ? undefined : String(value)]);
  const health = config.HEALTH_PORT > 0 ? String(config.HEALTH_PORT + index) : '0';
  return childEnv({ ...Object.fromEntries(texts), BASE_URL: config.baseUrl, HEALTH_PORT: health });
}

function running(
  config: Config,
  token: string | undefined,
  children: Child[],
  postgres: EmbeddedPostgres | undefined,
): Muster {
  const [api, ...workers] = children;
  let stopped: Promise<void> | undefined;
  return {
    baseUrl: config.baseUrl,
    token,
    databaseUrl: config.DATABASE_URL as string,
    get pids() {
      return { api: api?.pid, workers: workers.map((w) => w.pid), postgres: postgres?.pid };
    },
    stop() {
      stopped ??= stopAll(children, postgres);
      return stopped;
    },
    force() {
      for (const child of children) child.kill();
      if (postgres) process.kill(postgres.pid, 'SIGINT');
    },
  };
}

/** The API first: requests in progress may wait for what a worker does. */
async function stopAll([api, ...workers]: Child[], postgres: EmbeddedPostgres | undefined): Promise<void> {
  for (const child of [api, ...workers]) child?.letGo(); // a signal to the group ends the workers meanwhile
  await api?.stop();
  await Promise.all(workers.map((worker) => worker.stop()));
  await postgres?.stop();
}

/** Where mails are kept when there is no SMTP_URL. */
export function mailboxOf(config: Config): string {
  return join(resolve(config.DATA_DIR), 'mailbox');
}

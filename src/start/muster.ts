/**
 * All of Muster under one parent: stores, API and workers, started and stopped in order.
 *
 * Guarantees: settings that cannot work are refused with one sentence before anything is written. If a part fails to
 * start, the parts before it are stopped. Stopping drains the API, then the workers, then ends the embedded database.
 * On crash: the children drain on their own, and the database stops after them.
 */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { type Config, childEnv } from '../config.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../db/embedded/embedded.ts';
import { openPool } from '../db/pool.ts';
import { directUrl, requireStores } from '../lifecycle.ts';
import { openLogger } from '../logger.ts';
import { mailboxFolder } from '../mail/mailbox/folder.ts';
import { claimPort } from './address.ts';
import { type Child, startChild } from './child.ts';
import { prepareDatabase } from './database.ts';
import { keptEncryptionKey } from './encryption-key.ts';
import { API_OPTIONS, WORKER_OPTIONS } from './v8-options.ts';

const API = fileURLToPath(new URL('../api.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));

export interface StartOptions {
  logger?: Logger;
  /** Destination of the children's logs. */
  output?: 'inherit' | 'ignore';
  /** Called with the first administrator's token as soon as it exists, as it is not stored, even if the start fails. */
  onToken?: (token: string) => void;
  /** Entry files, for tests of this file. */
  files?: { api: string; worker: string };
}

export interface Muster {
  /** Public URL of the API. */
  baseUrl: string;
  /** Token of the first administrator, if this start created it. */
  token?: string;
  /** URL of the database, embedded or not. */
  databaseUrl: string;
  readonly pids: { api: number | undefined; workers: (number | undefined)[]; postgres: number | undefined };
  /** Drains and ends everything. Idempotent. */
  stop(): Promise<void>;
  /** Ends everything at once; the embedded database by its fast shutdown. */
  force(): void;
}

/**
 * Starts everything. PORT 0 takes a free port.
 * @throws StartError, ConfigError with a message for the person who starts it
 */
export async function startMuster(given: Config, options: StartOptions = {}): Promise<Muster> {
  if (given.DATABASE_URL) requireStores(given);
  const logger = options.logger ?? openLogger({ level: given.LOG_LEVEL, name: 'muster' });
  const config = await withAddress({ ...given, DATA_DIR: resolve(given.DATA_DIR) });
  const postgres = config.DATABASE_URL ? undefined : await startPostgres(config, logger);
  const children: Child[] = [];
  try {
    const resolved = await withStores(config, postgres);
    const { token } = await prepareDatabase(directUrl(requireStores(resolved)), resolved);
    if (token) options.onToken?.(token);
    await startChildren(resolved, logger, options, children);
    return running(resolved, token, children, postgres);
  } catch (error) {
    await stopAll(children, postgres);
    throw error;
  }
}

/** Determines the port before the address is shown to anyone. */
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

/** The settings as environment variables for a child. Each worker on one machine needs its own health port. */
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

/** The API first, as requests in progress may wait for a worker. */
async function stopAll([api, ...workers]: Child[], postgres: EmbeddedPostgres | undefined): Promise<void> {
  for (const child of [api, ...workers]) child?.letGo(); // a signal to the group also ends the workers
  await api?.stop();
  await Promise.all(workers.map((worker) => worker.stop()));
  await postgres?.stop();
}

/** The folder for mails when SMTP_URL is not set. */
export function mailboxOf(config: Config): string {
  return resolve(mailboxFolder(config));
}

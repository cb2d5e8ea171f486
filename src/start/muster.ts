/**
 * All of Muster under one parent: stores, API and workers, started and stopped in order.
 *
 * Guarantees: settings that cannot work are refused with one sentence before anything is written. If a part fails to
 * start, the parts before it are stopped. Stopping drains the API, then the workers, then ends the embedded database. A
 * child that dies is started again. Children stay in the parent's process group and get the group's signals themselves;
 * so the parent asks them to stop over IPC, not with a second signal, and kills them only after their deadline.
 * On crash: the children notice the closed channel and drain on their own, and the database stops after them.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { mailboxFolder } from '../messages/mail/mailbox.ts';
import { type Config, childEnv } from '../platform/config.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../platform/db/embedded/embedded.ts';
import { openPool, type Pool } from '../platform/db/pool.ts';
import { StartError } from '../platform/errors.ts';
import { claimPort, directUrl, requireStores } from '../platform/lifecycle.ts';
import { openLogger } from '../platform/logger.ts';
import { prepareDatabase } from './database.ts';
import { API_OPTIONS, WORKER_OPTIONS } from './v8-options.ts';

const API = fileURLToPath(new URL('./api.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));

/** Halves the processor time of a start; where the folder cannot be written, nothing is kept. */
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));

const READY_WITHIN_MS = 60_000;
/** Time for the exit itself, after the child's own deadline. */
const GRACE_MS = 2000;
const PAUSE_MS = { first: 200, most: 10_000 };
/** A child that ran this long did not fail at its start. */
const HEALTHY_AFTER_MS = 60_000;

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
  token?: string | undefined;
  /** URL of the database, embedded or not. */
  databaseUrl: string;
  readonly pids: { api: number | undefined; workers: (number | undefined)[]; postgres: number | undefined };
  /** Drains and ends everything. Idempotent. */
  stop(): Promise<void>;
  /** Ends everything at once; the embedded database by its fast shutdown. */
  force(): void;
}

export interface ChildOptions {
  name: string;
  /** Path of its entry file. */
  file: string;
  /** Options of its Node.js. */
  execArgv?: readonly string[] | undefined;
  env: Record<string, string | undefined>;
  logger: Logger;
  /** Milliseconds that it may take to drain. */
  stopAfterMs: number;
  /** Destination of its output; a number is an open file. */
  output: 'inherit' | 'ignore' | number;
}

export interface Child {
  readonly pid: number | undefined;
  /** From now on it is not restarted when it ends, as everything is about to stop. */
  letGo(): void;
  /** Drains it; resolves when it has ended. */
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): void;
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

/**
 * Supervises one child process: starts it, restarts it when it dies, and stops it.
 * Resolves when the child reports that it is ready.
 * @throws StartError when it ends before that; its own output says why
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const current = { child: spawnChild(options) };
  const stopping = new AbortController();
  await untilReady(current.child, options.name);
  const kept = keep(options, current, stopping.signal);
  return {
    get pid() {
      return current.child.pid;
    },
    letGo() {
      stopping.abort();
    },
    async stop() {
      stopping.abort();
      await stopChild(current.child, options.stopAfterMs + GRACE_MS);
      await kept;
    },
    kill() {
      stopping.abort();
      current.child.kill('SIGKILL');
    },
  };
}

/** Starts the child again whenever it ends, until `stopping` is aborted. */
async function keep(options: ChildOptions, current: { child: ChildProcess }, stopping: AbortSignal): Promise<void> {
  const { name, logger } = options;
  for (let deaths = 1; ; deaths++) {
    const since = performance.now();
    await ended(current.child);
    if (stopping.aborted) return;
    if (performance.now() - since > HEALTHY_AFTER_MS) deaths = 1;
    const pause = Math.min(PAUSE_MS.first * 2 ** (deaths - 1), PAUSE_MS.most);
    const { exitCode: code, signalCode: signal } = current.child;
    logger.error({ child: name, code, signal }, `a process died; restart in ${pause} ms`);
    await sleep(pause, undefined, { signal: stopping }).catch(() => {});
    if (stopping.aborted) return;
    current.child = spawnChild(options);
  }
}

function spawnChild({ file, env, output, execArgv = [] }: ChildOptions): ChildProcess {
  return fork(file, [], {
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...env } as NodeJS.ProcessEnv,
    execArgv: [...execArgv],
    stdio: ['ignore', output, output, 'ipc'],
  });
}

async function untilReady(child: ChildProcess, name: string): Promise<void> {
  const patience = new AbortController();
  const ready = new Promise<true>((resolve) => {
    child.on('message', (message) => {
      if ((message as { ready?: boolean } | null)?.ready) resolve(true);
    });
  });
  const late = sleep(READY_WITHIN_MS, undefined, { signal: patience.signal, ref: false }).catch(() => {});
  const isReady = await Promise.race([ready, ended(child), late]);
  patience.abort();
  if (isReady) return;
  const what = isOver(child)
    ? `ended with status ${child.exitCode ?? child.signalCode} before it was ready; its output says why`
    : `was not ready within ${READY_WITHIN_MS / 1000} seconds`;
  child.kill('SIGKILL');
  throw new StartError(`The ${name} process ${what}.`);
}

async function stopChild(child: ChildProcess, withinMs: number): Promise<void> {
  if (isOver(child)) return;
  const deadline = setTimeout(() => child.kill('SIGKILL'), withinMs);
  // An error here means that the child is already ending; the next line waits for that.
  if (child.connected) child.send({ stop: true }, () => {});
  await ended(child);
  clearTimeout(deadline);
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

async function ended(child: ChildProcess): Promise<void> {
  if (!isOver(child)) await once(child, 'exit');
}

/**
 * The instance's key if none is configured: generated once, and kept in the data folder next to the embedded database.
 *
 * Guarantee: a missing key is never replaced silently, as everything encrypted with it would be lost. The caller holds
 * the folder's lock.
 * On crash: the file is complete or absent.
 * @returns 32 bytes, base64
 * @throws StartError when the file is damaged, or missing although the database is in use
 */
async function keptEncryptionKey(dataDir: string, pool: Pool): Promise<string> {
  const path = join(dataDir, 'encryption.key');
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new StartError(
      `The encryption key in ${path} cannot be read (${error.code}): check the permissions of the file.`,
    );
  });
  if (kept === undefined) return makeKey(path, pool);
  if (Buffer.from(kept, 'base64').length !== 32) {
    throw new StartError(
      `The encryption key in ${path} is damaged; it must be 32 bytes in base64. Restore it from a backup.`,
    );
  }
  return kept.trim();
}

async function makeKey(path: string, pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ used: boolean }>(`select to_regclass('migrations') is not null as used`);
  if (rows[0]?.used) {
    throw new StartError(
      `The encryption key ${path} is missing, but this database uses it: restore it from a backup, or set ENCRYPTION_KEY.`,
    );
  }
  const key = randomBytes(32).toString('base64');
  await writeFile(`${path}.new`, `${key}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  return key;
}

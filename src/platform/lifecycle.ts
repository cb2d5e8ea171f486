/**
 * How every process starts and stops, which of its parts fail, and which addresses it takes.
 *
 * Guarantees: settings are checked before anything starts. The first SIGTERM, SIGINT or SIGHUP drains the process; a
 * second one, or a drain that takes too long, ends it with status 1. A child whose parent is gone drains too.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { type Config, ConfigError, readConfig } from './config.ts';
import { StartError } from './errors.ts';
import { logWarnings, openLogger } from './logger.ts';

/**
 * A signal this soon after the first counts as the same one: on Ctrl-C, a process gets it from the terminal and again
 * from npm.
 */
const SAME_SIGNAL_MS = 300;

/** What a process runs until it is stopped. */
export interface Running {
  /** Drains: takes no new work, finishes work in progress, closes. */
  stop(): Promise<void>;
  /** Called right before a forced exit; must not wait for anything. */
  force?(): void;
  /** Sent to the parent process together with the message that this process is ready. */
  ready?: Record<string, unknown>;
}

export interface ProcessOptions {
  name: string;
  logger: Logger;
  /** Milliseconds that `stop` may take. */
  stopAfterMs: number;
  /** @param stopping aborted when the process is asked to stop, possibly before it is ready */
  start: (stopping: AbortSignal) => Promise<Running>;
}

/** Settings of a process without embedded stores. */
export type StoresConfig = Config & {
  DATABASE_URL: string;
  ENCRYPTION_KEY: string;
  /** Of new hashes. No setting: tests lower it where they do not measure. */
  bcryptCost?: number;
};

type Start<C> = (config: C, logger: Logger, stopping: AbortSignal) => Promise<Running>;

/** The entry point of a process that needs external stores: checks settings, opens the log, starts, stops. */
export function runEntry(name: string, start: Start<StoresConfig>): void {
  runWith(name, () => requireStores(readConfig()), start);
}

/**
 * Like `runEntry`, with settings that `read` returns; the process may take `marginMs` longer than STOP_AFTER_MS to
 * stop.
 */
export function runWith<C extends Config>(name: string, read: () => C, start: Start<C>, marginMs = 0): void {
  try {
    requireNode();
    const config = read();
    const logger = openLogger({ level: config.LOG_LEVEL, name });
    logWarnings(logger);
    const stopAfterMs = config.STOP_AFTER_MS + marginMs;
    runProcess({ name, logger, stopAfterMs, start: (stopping) => start(config, logger, stopping) });
  } catch (error) {
    if (!isForPeople(error)) throw error;
    console.error(error.message);
    process.exitCode = 1;
  }
}

/** Starts, reports ready (to the log and, over IPC, to the parent), and ends the process when it is asked to stop. */
export function runProcess({ name, logger, stopAfterMs, start }: ProcessOptions): void {
  const exit = openExit({ name, logger, stopAfterMs });
  listenToSignals(exit);
  process.on('uncaughtException', exit.fail);
  process.on('unhandledRejection', exit.fail);
  listenToParent(exit.stop);

  start(exit.stopping).then(
    (started) => {
      exit.of(started);
      if (exit.since() !== undefined) return;
      logger.info(`${name} is ready`);
      if (process.connected) process.send?.({ ready: true, ...started.ready }, undefined, {}, orphaned);
    },
    (error) => {
      if (!isForPeople(error)) return exit.fail(error);
      // Ctrl-C during the start also ended the processes that the start was waiting for.
      if (exit.since() !== undefined) process.exit(0);
      console.error(error.message);
      process.exit(1);
    },
  );
}

/** The ways in which a process ends. */
function openExit({ name, logger, stopAfterMs }: Omit<ProcessOptions, 'start'>) {
  let running: Running | undefined;
  let since: number | undefined;
  const stopping = new AbortController();

  const fail = (err: unknown) => {
    logger.fatal({ err }, `${name} failed`);
    process.exit(1);
  };
  const force = (why: string) => {
    logger.error(`${name} ${why} and ends at once`);
    running?.force?.();
    process.exit(1);
  };
  const drain = () => {
    running?.stop().then(() => process.exit(0), fail);
  };
  return {
    fail,
    force,
    /** Drains what runs. */
    stop(reason: string): void {
      if (since !== undefined) return;
      since = performance.now();
      stopping.abort();
      logger.info({ reason }, `${name} stops`);
      setTimeout(() => force(`did not stop within ${stopAfterMs} ms`), stopAfterMs);
      drain();
    },
    /** Sets what runs, and drains it if the process was asked to stop in the meantime. */
    of(started: Running): void {
      running = started;
      if (since !== undefined) drain();
    },
    /** When the process was asked to stop, by `performance.now()`. */
    since: () => since,
    stopping: stopping.signal,
  };
}

function listenToSignals({ stop, force, since }: ReturnType<typeof openExit>): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const stoppingSince = since();
      if (stoppingSince === undefined) stop(signal);
      else if (performance.now() - stoppingSince > SAME_SIGNAL_MS) force(`got a second ${signal}`);
    });
  }
}

/** The parent uses IPC, as the process already gets the signals of its group; one more would be a second signal. */
function listenToParent(stop: (reason: string) => void): void {
  if (!process.send) return;
  process.on('message', (message) => {
    if ((message as { stop?: boolean } | null)?.stop) stop('parent asks');
  });
  process.on('disconnect', () => stop('parent is gone'));
}

/** The message could not be sent because the parent is gone; `disconnect` reports that too. */
function orphaned(): void {}

/** Errors with a message for the person who starts the program, as opposed to bugs. */
function isForPeople(error: unknown): error is Error {
  return error instanceof StartError || error instanceof ConfigError;
}

/** @throws ConfigError in one sentence */
export function requireStores(config: Config): StoresConfig {
  const { DATABASE_URL, ENCRYPTION_KEY } = config;
  if (DATABASE_URL && ENCRYPTION_KEY) return { ...config, DATABASE_URL, ENCRYPTION_KEY };
  const missing = [DATABASE_URL ? '' : 'DATABASE_URL', ENCRYPTION_KEY ? '' : 'ENCRYPTION_KEY (32 bytes in base64)'];
  const names = missing.filter(Boolean).join(' and ');
  throw new ConfigError(`Set ${names}; only "npm start" with its embedded database does not need them.`);
}

/** Where the database is without a pooler: for LISTEN, migrations and BullMQ, which need a session of their own. */
export function directUrl(config: Pick<StoresConfig, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>): string {
  return config.DATABASE_DIRECT_URL ?? config.DATABASE_URL;
}

/** @throws StartError when this Node.js does not run the program */
export function requireNode(version: string = process.versions.node): void {
  if (Number.parseInt(version, 10) >= 24) return;
  throw new StartError(
    `Muster needs Node.js 24 and runs on ${version}: use the npm scripts ("npm start") after "npm ci".`,
  );
}

export interface Failure {
  part: string;
  /** RFC 3339. */
  since: string;
}

/**
 * The parts of this process that currently fail, and since when; `/readyz` shows them.
 *
 * Guarantee: it contains names and times, nothing from an error. Each part reports its own state; a part that never
 * reported is working.
 */
export interface Condition {
  /** Reports a failure; the time of the first failure in a row is kept. Returns whether this is the first. */
  failing(part: string): boolean;
  working(part: string): void;
  /** The failing parts, in the order in which they began to fail. */
  failures(): Failure[];
}

export function openCondition(): Condition {
  const since = new Map<string, Date>();
  return {
    failing(part) {
      if (since.has(part)) return false;
      since.set(part, new Date());
      return true;
    },
    working(part) {
      since.delete(part);
    },
    failures: () => [...since].map(([part, at]) => ({ part, since: at.toISOString() })),
  };
}

/**
 * Checks the address that the API will listen on, before anything is written. Another program may still take the port
 * in between; the API then fails with the same message.
 * @returns the port to listen on: `port`, or a free one for 0
 * @throws StartError when it is not possible to listen on this address
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const server = createServer().listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    throw listenError({ host, port, setting: 'PORT' }, error as NodeJS.ErrnoException);
  }
  const claimed = (server.address() as { port: number }).port;
  server.close();
  await once(server, 'close');
  return claimed;
}

export interface Address {
  host: string;
  port: number;
  /** The setting that names the port. */
  setting: 'PORT' | 'HEALTH_PORT' | 'METRICS_PORT';
}

/** The message for the person who starts a process that cannot listen on its address. */
export function listenError({ host, port, setting }: Address, error: NodeJS.ErrnoException): StartError {
  if (error.code === 'EADDRINUSE') {
    return new StartError(
      `Port ${port} on ${host} is in use by another program: stop that program, or set ${setting} to another port.`,
    );
  }
  return new StartError(
    `Cannot listen on ${host}, port ${port} (${error.code}): set HOST and ${setting} to an address of this machine.`,
  );
}

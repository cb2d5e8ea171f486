/**
 * Starts worker processes separately from the API, where they need other settings or other routes to the stores. They
 * are the processes of `npm run worker`, started in the same way as by `npm start`.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnv } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { type Child, startChild } from '../../src/start/muster.ts';
import type { Scope } from '../scope.ts';
import type { Stores } from './testbed.ts';

const FILE = fileURLToPath(new URL('../../workers/all-in-one.ts', import.meta.url));
const STOP_AFTER_MS = 15_000;

export interface Apart {
  /** Settings that override the defaults and `stores`. */
  settings?: Record<string, string>;
  /** Options for Node.js. */
  execArgv?: string[];
  /** An open file for their logs, which are otherwise discarded. */
  log?: number;
}

/** Starts `count` workers and waits until they are ready; returns their process ids. */
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
    file: FILE,
    execArgv,
    env: childEnv({ ...workerSettings(stores), ...settings }),
    logger: openLogger({ level: 'silent', name: 'bench' }),
    stopAfterMs: STOP_AFTER_MS,
    output: log ?? 'ignore',
  });
}

/** As in testbed.ts: the defaults; the environment may override settings that do not define the testbed. */
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

/**
 * Reports this worker to the database every BEAT_MS, for `muster workers`: its roles, and what it does.
 *
 * Guarantee: a report that fails, or is slow, delays no other work, and no stop by more than REMOVE_MS.
 * On crash: the worker is no longer listed after some seconds (src/imports/status/workers.ts).
 */
import { hostname } from 'node:os';
import process from 'node:process';
import type { Logger } from 'pino';
import packageJson from '../package.json' with { type: 'json' };
import type { Queues } from '../src/imports/queue/queues.ts';
import { removeWorker, reportWorker } from '../src/imports/status/workers.ts';
import type { Config } from '../src/platform/config.ts';
import { clockSkew } from '../src/platform/db/clock.ts';
import { newestMigration } from '../src/platform/db/migrate.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import { newId } from '../src/platform/ids.ts';
import type { Condition } from '../src/platform/lifecycle.ts';
import { subscribe } from '../src/platform/telemetry.ts';
import { withTimeout } from '../src/platform/timeouts.ts';
import { startLoop } from './loop.ts';

const BEAT_MS = 2000;
const REMOVE_MS = 2000;
/** As the alert MusterClockSkew, in seconds. */
const MOST_SKEW_S = 5;

export interface PresenceDeps {
  pool: Pool;
  config: Pick<Config, 'WORKER_ROLES'>;
  queues: Pick<Queues, 'kind' | 'shards'>;
  condition: Condition;
  logger: Logger;
}

/** The jobs in progress in this process. */
export type JobCounts = () => { imports: number; mails: number };

export interface Presence {
  /** From now on the process is reported as stopping. */
  stopping(): void;
  /** Removes the process from the list. */
  stop(): Promise<void>;
}

export function startPresence({ pool, config, queues, condition, logger }: PresenceDeps, jobs: JobCounts): Presence {
  const own = {
    id: newId(),
    host: hostname(),
    pid: process.pid,
    version: packageJson.version,
    schema: newestMigration(),
    roles: config.WORKER_ROLES,
    backend: queues.kind,
    shards: queues.shards,
  };
  const usersPerSecond = measureUsers();
  const began = performance.now();
  let isStopping = false;

  async function clockParts(): Promise<string[]> {
    return Math.abs(await clockSkew(pool)) > MOST_SKEW_S ? ['clock'] : [];
  }

  async function beat(): Promise<number> {
    const { imports, mails } = jobs();
    const failing = [...condition.failures().map(({ part }) => part), ...(await clockParts())];
    const state = { isStopping, importJobs: imports, mailJobs: mails, usersPerSecond: usersPerSecond(), failing };
    await reportWorker(pool, { ...own, schema: await own.schema }, state, (performance.now() - began) / 1000);
    return BEAT_MS;
  }

  // Ends the wait of the first loop, so that the stop is reported at once.
  let loop = startLoop('presence', logger, beat);
  let ended: Promise<unknown> = Promise.resolve();
  return {
    stopping() {
      isStopping = true;
      ended = loop.stop();
      loop = startLoop('presence', logger, beat);
    },
    async stop() {
      const removed = Promise.all([ended, loop.stop()]).then(() => removeWorker(pool, own.id));
      await withTimeout(removed, REMOVE_MS, 'the database').catch((err) =>
        logger.warn({ err }, 'the worker was not removed from the list; it will not be shown after some seconds'),
      );
    },
  };
}

/** Returns how many users a second this process has written since the call before. */
function measureUsers(): () => number {
  let written = 0;
  let since = performance.now();
  subscribe('batch', ({ users }) => {
    written += users;
  });
  return () => {
    const seconds = (performance.now() - since) / 1000;
    const rate = seconds > 0 ? written / seconds : 0;
    written = 0;
    since = performance.now();
    return rate;
  };
}

/**
 * Hashes and verifies passwords in threads, never on the event loop.
 *
 * Guarantee: `close` drops no task; it waits for all that were submitted. Threads start with the first task and end
 * when idle; they keep no process alive. An expensive imported hash has a thread of its own, so that it delays no login
 * of users with common hashes.
 * On crash: a thread that dies rejects its own task only.
 */
import type { Logger } from 'pino';
import { Piscina } from 'piscina';
import { ApiError } from '../platform/errors.ts';
import { type FairQueue, openFairQueue } from '../platform/fair-queue.ts';
import { inSpan } from '../platform/telemetry.ts';
import { workOf } from './registry.ts';
import type { Secret } from './scheme.ts';
import { warnWithoutBinary } from './schemes/bcrypt.ts';
import type { Timed } from './thread.ts';
import { openSlowness } from './work.ts';

/** About what bcrypt with cost 16 takes in JavaScript. */
const MS_OF_WORK = 5000;
/** A hash of ours, in JavaScript. */
const USUAL_MS = 80;
/** What takes longer goes to the thread for expensive hashes: bcrypt from cost 14; few systems have such users. */
const EXPENSIVE_MS = 1000;
/** Expensive tasks may wait longer than common ones: for about three of the most expensive. */
const EXPENSIVE_WAITS = 3;
const RETRY_AFTER_S = 5;

/**
 * A task that waits is dropped when its `gone` is aborted, and rejects with its reason.
 * Every call rejects with ApiError 503 PASSWORDS-BUSY when it would wait longer than `longestWaitMs`.
 */
export interface Hasher {
  /** A new hash in Modular Crypt Format: bcrypt, or argon2id when the password is longer than 72 bytes of UTF-8. */
  hash(plain: string): Promise<string>;
  /**
   * `ok`: the password matches the hash. `rehash`: replace the hash by `hash(plain)`, because its scheme or cost is
   * outdated. A hash that ignores part of the password stays. `ok` is false for every hash that `hashProblem` rejects.
   * @param plain bytes are taken as they are, and never rehashed
   * @param started called when the task no longer waits for a thread
   */
  verify(
    encoded: string,
    plain: Secret,
    clientAborted?: AbortSignal,
    started?: () => void,
  ): Promise<{ ok: boolean; rehash: boolean }>;
  /** Takes as long as `verify` of a cheap hash with a wrong password: for users that do not exist. */
  verifyNothing(plain: string, clientAborted?: AbortSignal, started?: () => void): Promise<void>;
  /** How many times longer than `checkMs` a check may take in this process now: 1 to 3. */
  slowness(): number;
  /** Waits for the pending tasks, then ends the threads. Every later call rejects. */
  close(): Promise<void>;
}

export interface HasherOptions {
  /** Largest number of threads, in addition to the one for expensive hashes. */
  threads: number;
  /** Of new hashes, 4 to 16. */
  bcryptCost?: number | undefined;
  /** Milliseconds after which an idle thread ends. */
  idleMs?: number;
  /** How long a task may wait for a thread; default: no limit, for callers that submit few tasks at a time. */
  longestWaitMs?: number;
  /** Gets a warning if bcrypt has no binary for this platform. */
  logger?: Pick<Logger, 'warn'>;
}

/** Starts no thread yet: the first task does. */
export function openHasher(options: HasherOptions): Hasher {
  const { threads, bcryptCost = 10, idleMs = 30_000, longestWaitMs = Number.POSITIVE_INFINITY } = options;
  if (options.logger) warnWithoutBinary(options.logger);
  const common = openThreads(threads, idleMs, longestWaitMs);
  const expensive = openThreads(1, idleMs, EXPENSIVE_WAITS * longestWaitMs);
  const slowness = openSlowness();
  const underWay = new Set<Promise<unknown>>();
  let closed = false;

  function run<T>(
    name: string,
    task: Record<string, Secret>,
    ms = checkMs(),
    signal?: AbortSignal,
    started?: () => void,
  ): Promise<T> {
    if (closed) return Promise.reject(new Error('The password hasher is closed.'));
    const { pool, queue } = ms > EXPENSIVE_MS ? expensive : common;
    const work = async (): Promise<T> => {
      started?.();
      const timed: Timed<T> = await pool.run({ ...task, cost: bcryptCost }, { name });
      slowness.took(ms, timed.ms);
      return timed.result;
    };
    const result = queue.run('passwords', work, { cost: ms, signal });
    const forget = () => {
      underWay.delete(result);
    };
    underWay.add(result);
    result.then(forget, forget);
    return result;
  }

  return {
    hash: (plain) => run('hash', { plain }),
    verify: (encoded, plain, clientAborted, started) =>
      inSpan('password.verify', {}, () => run('verify', { encoded, plain }, checkMs(encoded), clientAborted, started)),
    verifyNothing: (plain, clientAborted, started) => run('nothing', { plain }, checkMs(), clientAborted, started),
    slowness: slowness.factor,
    async close() {
      closed = true;
      // The pool's own close() drops waiting tasks while its first thread is still starting.
      await Promise.allSettled(underWay);
      await Promise.all([common.pool.destroy(), expensive.pool.destroy()]);
    },
  };
}

function openThreads(atOnce: number, idleMs: number, longestWaitMs: number) {
  const pool = new Piscina({
    filename: new URL('./thread.ts', import.meta.url).href,
    name: 'verify',
    minThreads: 0,
    maxThreads: atOnce,
    idleTimeout: idleMs,
    // Without this option, each finished task moves the head of the queue to its tail.
    stricterFIFO: true,
  });
  return { pool, queue: openThreadQueue({ atOnce, longestWaitMs }) };
}

/** About how many milliseconds the check of a wrong password takes; without a hash, the check for an unknown user. */
export function checkMs(encoded?: string): number {
  return USUAL_MS + MS_OF_WORK * (encoded === undefined ? 0 : workOf(encoded));
}

/**
 * The queue of tasks that check passwords, before the threads or another system: the cost of a task is its duration in
 * milliseconds, about. A task that runs is not interrupted: a new thread costs more than most tasks.
 * @param longestWaitMs a task that would wait longer is refused with ApiError 503 PASSWORDS-BUSY
 */
export function openThreadQueue({ atOnce, longestWaitMs }: { atOnce: number; longestWaitMs: number }): FairQueue {
  return openFairQueue({ limit: atOnce, longestWait: longestWaitMs, refuse: busy });
}

function busy(): ApiError {
  const message = 'Too many passwords are being checked. Try again later.';
  return new ApiError('UNAVAILABLE', 'PASSWORDS-BUSY', message, { retryAfterS: RETRY_AFTER_S });
}

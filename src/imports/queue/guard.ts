import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend } from 'bullmq';
import { faultKind, sqlState } from '../../platform/db/faults.ts';
import { TimedOut, withTimeout } from '../../platform/timeouts.ts';

/** Tells faults of the queue's store, after which the same call may succeed later, from errors of the call itself. */

/**
 * Redis, "Error replies": the replies of a server that is loading, failing over or full, or that rejects the client.
 */
const REDIS_REPLIES =
  /\b(?:LOADING|READONLY|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|MISCONF|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)\b|max number of clients/;
/** Connection error messages of `pg` and `ioredis` that have no code; those of the last line are about a Cluster or Sentinels. */
const CONNECTION = new RegExp(
  'connection|connect\\b|timeout|timed out|terminated|retries per request' +
    '|\\bcluster\\b|slots cache|startup nodes|node is disconnected|sentinels',
  'i',
);

/**
 * Whether the store is unavailable, full or not yet ready. BullMQ's own errors, such as a lost lock, have a numeric
 * code.
 */
export function isStoreFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return false;
  if (sqlState(error)) return faultKind(error) === 'retry';
  if (error.name === 'ReplyError') return REDIS_REPLIES.test(error.message);
  return typeof code === 'string' || CONNECTION.test(error.message);
}

/**
 * A time limit for calls to a store once a worker is told to stop: an unavailable store would delay the stop forever.
 *
 * Guarantee: before the stop, calls have no limit.
 * On crash: nothing is left; this module holds no state.
 */

const WHAT = 'the queue';

/** Returns a function that waits for a call until `ms` milliseconds after the worker was told to stop. */
export function limitAfter(stopping: AbortSignal, ms: number): <T>(call: Promise<T>) => Promise<T> {
  const waiting = new Set<(reason: Error) => void>();
  const giveUp = () => {
    for (const reject of waiting) reject(new TimedOut(WHAT, ms));
  };
  stopping.addEventListener('abort', () => setTimeout(giveUp, ms).unref(), { once: true });

  return (call) => {
    if (stopping.aborted) return withTimeout(call, ms, WHAT);
    // A race with one promise for all calls would keep them all in memory.
    return new Promise((resolve, reject) => {
      waiting.add(reject);
      // Not `finally`, which would make two more promises for each job.
      call.then(
        (value) => {
          waiting.delete(reject);
          resolve(value);
        },
        (error) => {
          waiting.delete(reject);
          reject(error);
        },
      );
    });
  };
}

/**
 * Wraps the calls of a BullMQ worker to the store of its jobs, and prevents busy retries while the store is
 * unavailable.
 *
 * BullMQ 6.7 waits and retries only for ECONNREFUSED. After every other error it fetches the next job at once, as fast
 * as the processor allows, and a job whose outcome could not be recorded counts as failed.
 * Guarantee: after a failed fetch the next one follows a second later; the outcome of a job is retried until it is
 * recorded or the job's lock is lost. A worker fetches at least every LONGEST_WAIT_S seconds, even if its notification
 * was lost. It can be closed while the store is unavailable: each call is then given up after STOP_MS.
 * On crash: no state is lost here; the jobs' locks expire.
 */

/** Told whether the store works: `working` after each successful fetch, `failing` after an error of the store. */
export interface Watch {
  working(): void;
  failing(error: Error): void;
}

const PAUSE_MS = 1000;
const STOP_MS = 2000;
/** In seconds, BullMQ's usual wait; after an error BullMQ may wait an hour for a notification of PostgreSQL. */
const LONGEST_WAIT_S = 5;

type Call = (...args: never[]) => Promise<unknown>;
type Calls = Record<'moveToActive' | 'moveToCompleted' | 'moveToFailed', Call> & {
  waitForJob(seconds: number): Promise<unknown>;
  disconnectBlocking(wait?: boolean): Promise<void>;
  close(force?: boolean): Promise<void>;
};

/**
 * Returns a factory of the same backends with guarded calls.
 * @param stopping aborted when the worker closes; later failures are not reported
 */
export function guarded(
  factory: BackendFactory<IQueueBackend, unknown>,
  watch: Watch,
  stopping: AbortSignal,
): typeof factory {
  return (...args) => guard(factory(...args), watch, stopping);
}

function guard(backend: IQueueBackend, watch: Watch, stopping: AbortSignal): IQueueBackend {
  const calls = backend as unknown as Calls;
  const { moveToActive, moveToCompleted, moveToFailed, waitForJob, disconnectBlocking, close } = calls;
  const limited = limitAfter(stopping, STOP_MS);
  const report = (error: unknown) => {
    if (!stopping.aborted) watch.failing(error as Error);
  };
  const pause = () => sleep(PAUSE_MS, undefined, { signal: stopping }).catch(() => {}); // cut short by the stop

  calls.moveToActive = async (...args) => {
    try {
      const job = await limited(moveToActive.apply(backend, args));
      watch.working();
      return job;
    } catch (error) {
      report(error);
      if (isStoreFault(error)) throw new StoreAway(error);
      await pause();
      throw error;
    }
  };
  calls.waitForJob = async (seconds) => {
    try {
      return await limited(waitForJob.call(backend, Math.min(seconds, LONGEST_WAIT_S)));
    } catch (error) {
      report(error);
      await pause();
      throw new StoreAway(error);
    }
  };
  const recorded =
    (end: Call): Call =>
    (...args) =>
      limited(end.apply(backend, args)).catch((error) => {
        if (!isStoreFault(error)) throw error;
        report(error);
        throw new StoreAway(error);
      });
  calls.moveToCompleted = recorded(moveToCompleted);
  calls.moveToFailed = recorded(moveToFailed);
  // A connection that is reconnecting neither closes nor answers QUIT (ioredis, "reconnecting"). Only this
  // worker uses it.
  calls.disconnectBlocking = (wait) => limited(disconnectBlocking.call(backend, wait)).catch(report);
  calls.close = () => limited(close.call(backend, true)).catch(report);
  return backend;
}

/** The only error after which BullMQ waits (`runRetryDelay`) and retries the call. */
class StoreAway extends Error {
  readonly code = 'ECONNREFUSED';

  constructor(cause: unknown) {
    super('The store of the queue is unavailable.', { cause });
  }
}

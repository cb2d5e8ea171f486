/**
 * Wraps the calls of a BullMQ worker to the store of its jobs, and prevents busy retries while the store is unavailable.
 *
 * BullMQ 6.7 waits and retries only for ECONNREFUSED. After every other error it fetches the next job at once, as fast
 * as the processor allows, and a job whose outcome could not be recorded counts as failed.
 * Guarantee: after a failed fetch the next one follows a second later; the outcome of a job is retried until it is
 * recorded or the job's lock is lost. A worker fetches at least every LONGEST_WAIT_S seconds, even if its notification
 * was lost. It can be closed while the store is unavailable: each call is then given up after STOP_MS.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend } from 'bullmq';
import { faultKind, sqlState } from '../../platform/db/faults.ts';
import { TimedOut, withTimeout } from '../../platform/timeouts.ts';

/** Told whether the store works: `working` after each successful fetch, `failing` after an error of the store. */
export interface Watch {
  working(): void;
  failing(error: Error): void;
}

const PAUSE_MS = 1000;
const STOP_MS = 2000;
/** In seconds, BullMQ's usual wait; after an error BullMQ may wait an hour for a notification of PostgreSQL. */
const LONGEST_WAIT_S = 5;
const WHAT = 'the queue';

type Call = (...args: never[]) => Promise<unknown>;
type Calls = Record<'moveToActive' | 'moveToCompleted' | 'moveToFailed', Call> & {
  waitForJob(seconds: number): Promise<unknown>;
  disconnectBlocking(wait?: boolean): Promise<void>;
  close(force?: boolean): Promise<void>;
};

/** What the guarded calls of one worker share. */
interface Guard {
  /** Waits for a call, but not for long after the worker was told to stop. */
  limited: <T>(call: Promise<T>) => Promise<T>;
  working(): void;
  report(error: unknown): void;
  pause(): Promise<void>;
}

/**
 * Returns a factory of the same backends with guarded calls.
 * @param stopping aborted when the worker closes; later failures are not reported
 */
export function withRetries(
  factory: BackendFactory<IQueueBackend, unknown>,
  watch: Watch,
  stopping: AbortSignal,
): typeof factory {
  return (...args) => {
    const backend = factory(...args);
    const calls = backend as unknown as Calls;
    const guard: Guard = {
      limited: limitAfter(stopping, STOP_MS),
      working: () => watch.working(),
      report(error) {
        if (!stopping.aborted) watch.failing(error as Error);
      },
      pause: () => sleep(PAUSE_MS, undefined, { signal: stopping }).catch(() => {}), // cut short by the stop
    };
    guardFetches(calls, guard);
    guardOutcomes(calls, guard);
    guardClose(calls, guard);
    return backend;
  };
}

function guardFetches(calls: Calls, { limited, working, report, pause }: Guard): void {
  const moveToActive = calls.moveToActive.bind(calls);
  const waitForJob = calls.waitForJob.bind(calls);
  calls.moveToActive = async (...args) => {
    try {
      const job = await limited(moveToActive(...args));
      working();
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
      return await limited(waitForJob(Math.min(seconds, LONGEST_WAIT_S)));
    } catch (error) {
      report(error);
      await pause();
      throw new StoreAway(error);
    }
  };
}

function guardOutcomes(calls: Calls, { limited, report }: Guard): void {
  for (const name of ['moveToCompleted', 'moveToFailed'] as const) {
    const end = calls[name].bind(calls);
    calls[name] = (...args) =>
      limited(end(...args)).catch((error) => {
        if (!isStoreFault(error)) throw error;
        report(error);
        throw new StoreAway(error);
      });
  }
}

/** A connection that is reconnecting neither closes nor answers QUIT (ioredis, "reconnecting"). Only this worker uses it. */
function guardClose(calls: Calls, { limited, report }: Guard): void {
  const disconnectBlocking = calls.disconnectBlocking.bind(calls);
  const close = calls.close.bind(calls);
  calls.disconnectBlocking = (wait) => limited(disconnectBlocking(wait)).catch(report);
  calls.close = () => limited(close(true)).catch(report);
}

/** The only error after which BullMQ waits (`runRetryDelay`) and retries the call. */
class StoreAway extends Error {
  readonly code = 'ECONNREFUSED';

  constructor(cause: unknown) {
    super('The store of the queue is unavailable.', { cause });
  }
}

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

/** Redis, "Error replies": the replies of a server that is loading, failing over or full, or that rejects the client. */
const REDIS_REPLIES =
  /\b(?:LOADING|READONLY|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|MISCONF|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)\b|max number of clients/;
/** Messages of `pg` and `ioredis` about connections, without a code; the last line is about a Cluster or Sentinels. */
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

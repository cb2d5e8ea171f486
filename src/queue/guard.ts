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
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend } from 'bullmq';
import { limitAfter } from './stop-limit.ts';
import { isStoreFault } from './store-faults.ts';

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

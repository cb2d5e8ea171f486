/**
 * Stands between a worker of BullMQ and what holds its jobs, and keeps both calm while that cannot be used.
 *
 * BullMQ 6.7 waits and tries again for ECONNREFUSED alone. After every other error it asks for the next job at once, as
 * often as the processor allows, and a job whose end could not be recorded counts as failed.
 * Guarantee: after a failed fetch the next one comes a second later; the end of a job is tried again until it is recorded
 * or its lock is lost. A worker looks for jobs at least every LONGEST_WAIT_S, also when its wake-up was lost. It can be closed
 * while the store is away: each call is then given up after STOP_MS.
 * On crash: nothing is held here; the jobs' locks run out.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { BackendFactory, IQueueBackend } from 'bullmq';
import { limitAfter } from './stop-limit.ts';
import { isStoreFault } from './store-faults.ts';

/** Is told whether the store can be used, as often as it is. */
export interface Watch {
  working(): void;
  failing(error: Error): void;
}

const PAUSE_MS = 1000;
const STOP_MS = 2000;
/** BullMQ may wait an hour for a notification of PostgreSQL after an error; seconds, as long as its usual wait. */
const LONGEST_WAIT_S = 5;

type Call = (...args: never[]) => Promise<unknown>;
type Calls = Record<'moveToActive' | 'moveToCompleted' | 'moveToFailed', Call> & {
  waitForJob(seconds: number): Promise<unknown>;
  disconnectBlocking(wait?: boolean): Promise<void>;
  close(force?: boolean): Promise<void>;
};

/**
 * A factory of the same backends, guarded.
 * @param stopping aborted when the worker closes: what fails from then on is no fault
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
    async (...args) => {
      try {
        return await limited(end.apply(backend, args));
      } catch (error) {
        if (!isStoreFault(error)) throw error;
        report(error);
        throw new StoreAway(error);
      }
    };
  calls.moveToCompleted = recorded(moveToCompleted);
  calls.moveToFailed = recorded(moveToFailed);
  // A connection that is away neither ends nor answers a farewell (ioredis, "reconnecting"); ours are of use to nobody else.
  calls.disconnectBlocking = (wait) => limited(disconnectBlocking.call(backend, wait)).catch(report);
  calls.close = () => limited(close.call(backend, true)).catch(report);
  return backend;
}

/** The one error after which BullMQ waits (`runRetryDelay`) and tries the same again. */
class StoreAway extends Error {
  readonly code = 'ECONNREFUSED';

  constructor(cause: unknown) {
    super('What holds the queue cannot be used.', { cause });
  }
}

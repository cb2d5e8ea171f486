import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../../platform/timeouts.ts';
/**
 * Keeps a worker and a producer of BullMQ usable when their store fails.
 *
 * If the first access to the store fails, a BullMQ object remembers the error and fails with it for its whole life. So
 * a worker runs only once it is ready, and is recreated on a new connection when it does not become ready or its run
 * ends unexpectedly; a producer is recreated at its next use. The guard handles later losses of the store (guard.ts).
 * On crash: the jobs' locks expire, as they do without this module.
 */

/** The part of a BullMQ worker that is used here. */
export interface KeptWorker {
  concurrency: number;
  readonly inProgress: number;
  waitUntilReady(): Promise<void>;
  /** Resolves when the worker is closed. */
  run(): Promise<void>;
  close(force?: boolean): Promise<void>;
}

/** A BullMQ object with the connection that was opened for it. */
export interface Made<T> {
  part: T;
  disconnect(): Promise<void>;
}

export interface RunningWorker {
  /**
   * From now on at most `jobs` are in progress at once, instead of `concurrency`; jobs above the limit still finish.
   */
  limit(jobs: number): void;
  /** The number of jobs in progress. */
  inProgress(): number;
  /** Takes no more jobs and waits for those in progress. */
  stop(): Promise<void>;
}

const READY_MS = 30_000;
/** Shorter, because callers of a producer would rather retry than wait. */
const PRODUCER_READY_MS = 5000;
/** How long a caller waits for one command; the command itself ends when its connection ends (backend.ts). */
const COMMAND_MS = 10_000;
const CLOSE_MS = 5000;
const PAUSE_MS = { first: 100, most: 5000 };

/**
 * Starts a worker and keeps it running.
 * @param make gets a signal that is aborted when the worker is told to stop
 * @param failing is called with the reason why a worker did not become ready, or ended unexpectedly
 */
export function keepWorking(
  make: (stopping: AbortSignal) => Made<KeptWorker>,
  failing: (error: Error) => void,
): RunningWorker {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stopped = once(signal, 'abort');
  let limit: number | undefined;
  let made = make(signal);

  async function keep(): Promise<void> {
    for (let pause = PAUSE_MS.first; ; pause = Math.min(2 * pause, PAUSE_MS.most)) {
      try {
        await withTimeout(Promise.race([made.part.waitUntilReady(), stopped]), READY_MS, 'the queue');
        if (signal.aborted) return;
        pause = PAUSE_MS.first;
        await made.part.run();
        throw new Error('The worker ended unexpectedly.');
      } catch (error) {
        if (signal.aborted) return;
        failing(error as Error);
        void end(made);
      }
      await sleep(pause, undefined, { signal }).catch(() => {}); // cut short by the stop
      if (signal.aborted) return;
      made = make(signal);
      made.part.concurrency = limit ?? made.part.concurrency;
    }
  }

  const kept = keep();
  return {
    limit(jobs) {
      limit = jobs;
      made.part.concurrency = jobs;
    },
    inProgress: () => made.part.inProgress,
    async stop() {
      stopping.abort();
      await made.part.close();
      await kept;
      await made.disconnect();
    },
  };
}

/** The part of a BullMQ queue that is used here. */
interface KeptProducer {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

export interface Producer<T> {
  /**
   * @throws Error when the store is unavailable: the error of `work`, or TimedOut when the store is silent for some
   * seconds; the operation may still be carried out
   */
  use<R>(work: (part: T) => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/** A producer that is created at its first use, and recreated after it did not become ready. */
export function keepProducer<T extends KeptProducer>(make: () => Made<T>): Producer<T> {
  let made: Made<T> | undefined;
  return {
    async use(work) {
      made ??= make();
      const used = made;
      const ready = used.part.waitUntilReady();
      ready.catch(() => {
        if (made !== used) return;
        made = undefined;
        void end(used);
      });
      await withTimeout(ready, PRODUCER_READY_MS, 'the queue');
      return withTimeout(work(used.part), COMMAND_MS, 'the queue');
    },
    async close() {
      if (made) await end(made);
    },
  };
}

/** Closes a part and its connection within a time limit, and ignores errors of its store. */
async function end({ part, disconnect }: Made<{ close(force?: boolean): Promise<void> }>): Promise<void> {
  await withTimeout(part.close(true), CLOSE_MS, 'the queue').catch(() => {}); // the store may be unavailable
  await disconnect().catch(() => {}); // as above
}

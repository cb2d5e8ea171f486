/**
 * Keeps a worker and a producer of BullMQ usable when their store fails.
 *
 * If the first access to the store fails, a BullMQ object remembers the error and fails with it for its whole life. So
 * a worker runs only once it is ready, and is recreated on a new connection when it does not become ready or its run
 * ends unexpectedly; a producer is recreated at its next use. The guard handles later losses of the store (guard.ts).
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../../platform/timeouts.ts';

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

/** The current worker, and the limit that each later one gets too. */
interface Kept {
  made: Made<KeptWorker>;
  limit?: number;
}

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
  const kept: Kept = { made: make(signal) };
  const running = keep(kept, make, failing, signal);
  return {
    limit(jobs) {
      kept.limit = jobs;
      kept.made.part.concurrency = jobs;
    },
    inProgress: () => kept.made.part.inProgress,
    async stop() {
      stopping.abort();
      await kept.made.part.close();
      await running;
      await kept.made.disconnect();
    },
  };
}

/** Runs workers, each after the one before has failed, until `stopping` is aborted. */
async function keep(
  kept: Kept,
  make: (stopping: AbortSignal) => Made<KeptWorker>,
  failing: (error: Error) => void,
  stopping: AbortSignal,
): Promise<void> {
  const stopped = once(stopping, 'abort');
  for (let pause = PAUSE_MS.first; ; pause = Math.min(2 * pause, PAUSE_MS.most)) {
    const { part } = kept.made;
    try {
      await withTimeout(Promise.race([part.waitUntilReady(), stopped]), READY_MS, 'the queue');
      if (stopping.aborted) return;
      pause = PAUSE_MS.first;
      await part.run();
      throw new Error('The worker ended unexpectedly.');
    } catch (error) {
      if (stopping.aborted) return;
      failing(error as Error);
      void end(kept.made);
    }
    await sleep(pause, undefined, { signal: stopping }).catch(() => {}); // cut short by the stop
    if (stopping.aborted) return;
    kept.made = make(stopping);
    kept.made.part.concurrency = kept.limit ?? kept.made.part.concurrency;
  }
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
  await disconnect().catch(() => {}); // the store may be unavailable
}

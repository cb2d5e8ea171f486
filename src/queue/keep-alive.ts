/**
 * Keeps a worker and a producer of BullMQ usable whatever becomes of their store.
 *
 * BullMQ remembers that its first look at the store failed, and fails with that for as long as it exists. So a worker runs
 * only once it is ready, and is made again, on a connection of its own, when it does not get ready or its run ends by itself; a
 * producer is made again at its next use. Later losses of the store are the guard's (guard.ts).
 * On crash: the jobs' locks run out, as they do without us.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeout } from '../timeout.ts';

/** What is used of a worker of BullMQ. */
export interface KeptWorker {
  concurrency: number;
  waitUntilReady(): Promise<void>;
  /** Resolves when it was closed. */
  run(): Promise<void>;
  close(force?: boolean): Promise<void>;
}

/** Something of BullMQ's with the connection that was opened for it. */
export interface Made<T> {
  part: T;
  disconnect(): Promise<void>;
}

export interface RunningWorker {
  /** From now on this many jobs are in progress at once, instead of `concurrency`; those that are more end first. */
  limit(jobs: number): void;
  /** Takes no further job and waits for those in progress. */
  stop(): Promise<void>;
}

const READY_MS = 30_000;
/** For callers, who rather try again than wait. */
const PRODUCER_READY_MS = 5000;
/** What a caller waits for one command; the command itself ends when its connection does (backend.ts). */
const COMMAND_MS = 10_000;
const CLOSE_MS = 5000;
const PAUSE_MS = { first: 100, most: 5000 };

/**
 * Starts a worker and keeps it running.
 * @param make is given what is aborted when the worker is told to stop
 * @param failing is told why a worker did not get ready, or ended by itself
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
        throw new Error('The worker ended by itself.');
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
    async stop() {
      stopping.abort();
      await made.part.close();
      await kept;
      await made.disconnect();
    },
  };
}

/** What is used of a queue of BullMQ by whoever keeps it. */
interface KeptProducer {
  waitUntilReady(): Promise<unknown>;
  close(): Promise<void>;
}

export interface Producer<T> {
  /**
   * @throws Error when the store cannot be used: that of `work`, or TimedOut when the store is silent for some seconds; what
   *   was asked of it may still be done
   */
  use<R>(work: (part: T) => Promise<R>): Promise<R>;
  close(): Promise<void>;
}

/** A producer that is made at its first use, and again after it could not be made ready. */
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

/** Lets go of a part, within a limit and whatever its store says. */
async function end({ part, disconnect }: Made<{ close(force?: boolean): Promise<void> }>): Promise<void> {
  await withTimeout(part.close(true), CLOSE_MS, 'the queue').catch(() => {}); // a store that is away needs no good-bye
  await disconnect().catch(() => {}); // as above
}

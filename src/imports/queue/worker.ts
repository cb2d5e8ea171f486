/**
 * A BullMQ worker with our settings and error reports, kept running by guard.ts and keep-alive.ts.
 *
 * Guarantee: never more jobs in progress than `concurrency`, which may change while it runs. A job whose lock was lost
 * belongs to another worker and is dropped; such jobs are reported at most once a second, as one `LostLocks`.
 * On crash: the locks of its jobs expire, and BullMQ gives the jobs to another worker.
 */
import { ErrorCode, type IQueueBackend, type Job, type JobProgress, WaitingError, Worker } from 'bullmq';
import { publish } from '../../platform/telemetry.ts';
import type { AnyQueue, Backend } from './backend.ts';
import { isStoreFault, type Watch, withRetries } from './guard.ts';
import { keepWorking, type RunningWorker } from './keep-alive.ts';
import type { Shard } from './shards.ts';

/** The part of a job that a processor gets. */
export interface JobPointer<T> {
  id?: string | undefined;
  data: T;
  /** Another worker took it before and let its lock expire: it died, or it is frozen or slow and will go on. */
  isTakenOver?: boolean;
}

export interface WorkOptions {
  name: AnyQueue;
  /** The queue's name in BullMQ. */
  queue: string;
  shard: Shard;
  /** Jobs in progress at once. */
  concurrency: number;
  /** How long a job stays with an unresponsive worker, in milliseconds. */
  lockMs: number;
  watch: Watch;
  /** Called with errors of jobs and of BullMQ itself. */
  onError(error: Error): void;
}

/** After a broken connection, which mostly recovers at once. BullMQ's default of 15 seconds would pause all imports. */
const STORE_RETRY_MS = 1000;

/**
 * Thrown by a processor that stops before it has begun a job: another worker gets the job at once, instead of after the
 * duration of a lock.
 */
export class HandBack extends Error {}

/** Starts to take jobs as soon as the store is available. */
export function startWork<T>(
  backend: Backend,
  processor: (job: JobPointer<T>) => Promise<unknown>,
  work: WorkOptions,
): RunningWorker {
  const { name, queue, shard, watch, onError } = work;
  // Nobody waits for a job of the warm-up.
  const run = processorOf(processor, name === 'warm-up' ? () => {} : sampleWaits(name));
  return keepWorking((stopping) => {
    const connection = backend.worker(shard.server, name);
    const options = { ...optionsOf(work), connection };
    const worker = new EagerWorker<T>(queue, run, options, withRetries(backend.factory, watch, stopping));
    // One connection to Redis carries all fetches at once. They keep Redis busy for a millisecond or two.
    worker.mostFetches = backend.mostFetches;
    worker.on('error', (error) => (isStoreFault(error) && !stopping.aborted ? watch.failing(error) : onError(error)));
    worker.on('failed', (_job, error) => onError(error));
    return { part: worker, disconnect: () => backend.disconnect(connection) };
  }, watch.failing);
}

function optionsOf({ shard, concurrency, lockMs }: WorkOptions) {
  return {
    autorun: false,
    prefix: shard.prefix,
    concurrency,
    lockDuration: lockMs,
    stalledInterval: Math.max(500, lockMs / 2),
    maxStalledCount: 1000,
    runRetryDelay: STORE_RETRY_MS,
    // Jobs are deleted when they end: outcomes are in the database.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  };
}

/** BullMQ's form of a processor. */
function processorOf<T>(
  processor: (job: JobPointer<T>) => Promise<unknown>,
  noteStart: (job: { timestamp: number }) => void,
) {
  return async (job: Job<T>, token?: string): Promise<unknown> => {
    noteStart(job);
    const pointer: JobPointer<T> = { id: job.id, data: job.data, isTakenOver: job.stalledCounter > 0 };
    return processor(pointer).catch((error) =>
      error instanceof HandBack ? handBack(job, token) : Promise.reject(error),
    );
  };
}

/** @throws WaitingError which tells BullMQ that the job is no longer the worker's */
async function handBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

/** One job a turn of the event loop is enough for a statistic, and costs the others nothing. */
function sampleWaits(queue: string): (job: { timestamp: number }) => void {
  let isTaken = false;
  return ({ timestamp }) => {
    if (isTaken) return;
    isTaken = true;
    setImmediate(() => {
      isTaken = false;
    });
    // A Redis that evicts keys may have lost the job's time.
    if (!Number.isFinite(timestamp)) return;
    // The clock of the process that added the job may be ahead.
    publish('jobStarted', { queue, waited: Math.max(0, Date.now() - timestamp) / 1000 });
  };
}

type AnyWorker<Data> = Worker<Data, unknown, string, IQueueBackend, JobProgress, unknown>;
type AnyJob<Data> = Job<Data, unknown, string>;
/** BullMQ's declared type, which omits that there may be no next job. */
type Next<Data> = Promise<AnyJob<Data>>;

/**
 * A BullMQ worker that fetches many jobs at once and starts each when it arrives.
 *
 * BullMQ's own loop fetches a worker's jobs one after the other, and starts the first only when it has as many as it
 * may run at once: with 400 jobs and a store 40 ms away that takes 16 seconds, in which the first jobs' locks are not
 * renewed. This loop fetches one job, then, while jobs arrive, twice as many as before, all in one round trip.
 * Completing a job still fetches the next one in the same call. Everything else is BullMQ's: locks, stalled jobs,
 * retries, completion, waiting. Not supported, as our queues use neither: a rate limiter, and a `pause` that
 * does not wait. After a store error it waits for `runRetryDelay` before the next fetch.
 */
export class EagerWorker<Data> extends Worker<Data, unknown, string, IQueueBackend, JobProgress, unknown> {
  /**
   * Fetches in one round. If there were more than the pool has connections, some would wait for one while their locks
   * run down, as BullMQ counts a lock's time from the call.
   */
  mostFetches = 4;
  /** Running jobs, and fetches in progress that may return one. */
  private taken = 0;
  private tokens = 0;
  private underWay = new Set<Promise<void>>();
  private oneLost = countLost((lost) => this.emit('error', lost));
  /** Called when there may be room for another job. */
  private wake = () => {};

  /** The number of running jobs. */
  get inProgress(): number {
    return this.underWay.size;
  }

  /** With `autorun`, BullMQ's constructor calls this: our own fields must not be used before the first `await`. */
  override async run(): Promise<void> {
    if (this.running) throw new Error('Worker is already running.');
    this.running = true;
    try {
      if (this.closing || this.paused) return;
      await this.startStalledCheckTimer();
      this.lockManager.start();
      // `close` and `pause` wait for this promise.
      this.mainLoopRunning = this.keepFull();
      await this.mainLoopRunning;
    } finally {
      this.running = false;
    }
  }

  private async keepFull(): Promise<void> {
    let atOnce = 1;
    while (!this.closing && !this.paused) {
      const room = this.concurrency - this.taken;
      if (room <= 0) {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        continue;
      }
      const count = Math.min(atOnce, room, this.mostFetches);
      // Only a single fetch blocks until a job arrives.
      const found = await Promise.all(Array.from({ length: count }, () => this.fetch(count === 1)));
      atOnce = found.every(Boolean) ? count * 2 : 1;
    }
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Starts the next job, if there is one. Returns whether there was. */
  private async fetch(block: boolean): Promise<boolean> {
    const token = `${this.id}:${this.tokens++}`;
    this.taken++;
    try {
      const job = (await this.getNextJob(token, { block })) as AnyJob<Data> | undefined;
      if (job) {
        this.start(job, token);
        return true;
      }
    } catch (error) {
      if (!this.closing) {
        this.emit('error', error as Error);
        await this.rest();
      }
    }
    this.taken--;
    return false;
  }

  private start(job: AnyJob<Data>, token: string): void {
    const running = this.runFrom(job, token).catch((error) => {
      this.emit('error', error);
    });
    this.underWay.add(running);
    void running.finally(() => {
      this.underWay.delete(running);
      this.taken--;
      this.wake();
    });
  }

  /** Runs the job, then the job that its completion returned, and so on. */
  private async runFrom(job: AnyJob<Data>, token: string): Promise<void> {
    let next: AnyJob<Data> | undefined = job;
    while (next) {
      next = (await this.processJob(next, token, () => this.taken <= this.concurrency)) as typeof next;
      this.wake();
    }
  }

  /** Waits after a store error; ends early when the worker is closed. */
  private rest(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.off('closing', done);
        resolve();
      };
      const timer = setTimeout(done, this.opts.runRetryDelay);
      this.on('closing', done);
    });
  }

  override async extendJobLocks(jobIds: string[], tokens: string[], duration: number): Promise<string[]> {
    await super.extendJobLocks(jobIds, tokens, duration);
    return []; // locks that could not be renewed are reported together when their jobs end
  }

  protected override handleCompleted(...args: Parameters<AnyWorker<Data>['handleCompleted']>): Next<Data> {
    return this.unlessLost(super.handleCompleted(...args));
  }

  protected override handleFailed(...args: Parameters<AnyWorker<Data>['handleFailed']>): Next<Data> {
    return this.unlessLost(super.handleFailed(...args));
  }

  /** A job whose lock was lost is completed by the worker that has it now. */
  private unlessLost(ended: Next<Data>): Next<Data> {
    return ended.catch((error) => {
      if (!isLost(error)) throw error;
      this.oneLost();
      return undefined as never;
    });
  }
}

/** Jobs that took longer than their locks: BullMQ gives them to another worker, which completes them. */
export class LostLocks extends Error {
  readonly jobs: number;
  constructor(jobs: number) {
    super(`${jobs} ${jobs === 1 ? 'job' : 'jobs'} lost the lock and may be run by another worker as well`);
    this.jobs = jobs;
  }
}

/** Lost locks are reported together, this long after the first one. */
const TELL_AFTER_MS = 1000;

/** BullMQ's error codes for a job that is no longer ours. */
const NOT_OURS: unknown[] = [
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
];

/** Whether a job could not be completed because it now belongs to another worker, or no longer exists. */
export function isLost(error: unknown): boolean {
  return NOT_OURS.includes((error as { code?: unknown } | null)?.code);
}

/** Returns a function that counts one lost lock; `tell` is called with all of them together. */
export function countLost(tell: (lost: LostLocks) => void): () => void {
  let jobs = 0;
  return () => {
    if (jobs++ > 0) return;
    const timer = setTimeout(() => {
      tell(new LostLocks(jobs));
      jobs = 0;
    }, TELL_AFTER_MS);
    timer.unref();
  };
}

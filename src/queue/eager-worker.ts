/**
 * A BullMQ worker that fetches many jobs at once and starts each when it arrives.
 *
 * BullMQ's own loop fetches a worker's jobs one after the other, and starts the first only when it has as many as it
 * may run at once: with 400 jobs and a store 40 ms away that takes 16 seconds, in which the first jobs' locks are not
 * renewed. This loop fetches one job, then, while jobs arrive, twice as many as before, all in one round trip.
 * Completing a job still fetches the next one in the same call. Everything else is BullMQ's: locks, stalled jobs,
 * retries, completion, waiting. Not supported, as our queues use neither: a rate limiter, and a `pause` that
 * does not wait.
 *
 * Guarantee: never more jobs in progress than `concurrency`, which may change while it runs. A job whose lock was lost
 * belongs to another worker and is dropped; the number of such jobs is reported at most once a second, as one
 * `LostLocks`. After a store error it waits for `runRetryDelay` before the next fetch.
 * On crash: the locks of its jobs expire, and BullMQ gives the jobs to another worker.
 */
import { type IQueueBackend, type Job, type JobProgress, Worker } from 'bullmq';
import { countLost, isLost } from './lost-locks.ts';

type AnyWorker<Data> = Worker<Data, unknown, string, IQueueBackend, JobProgress, unknown>;
type AnyJob<Data> = Job<Data, unknown, string>;
/** BullMQ's declared type, which omits that there may be no next job. */
type Next<Data> = Promise<AnyJob<Data>>;

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

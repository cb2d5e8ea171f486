/**
 * A BullMQ worker that fetches many jobs at once and starts each when it arrives.
 *
 * BullMQ's own loop asks for a worker's jobs one after the other, and starts the first when it has all that it may run
 * at once: with 400 of them and a store 40 ms away that takes 16 seconds, in which nobody renews the locks of the first.
 * This loop asks for one job, then, as long as jobs come, for twice as many as before, all in one round trip. A job's end
 * still fetches the next job in the same call. All else is BullMQ's: locks, stalled jobs, retries, ends, the wait for a job.
 * Not provided for, as no queue of ours has them: a limiter, and `pause` that does not wait.
 *
 * Guarantee: never more jobs in progress than `concurrency`, which may change while it runs. A job whose lock was lost is
 * somebody else's and is dropped; how many there were is told once a second at most, as one `LostLocks`. After a fault of
 * the store it waits for `runRetryDelay` before it asks again.
 * On crash: the locks of its jobs run out, and BullMQ gives them to another worker.
 */
import { type IQueueBackend, type Job, type JobProgress, Worker } from 'bullmq';
import { countLost, isLost } from './lost-locks.ts';

type AnyWorker<Data> = Worker<Data, unknown, string, IQueueBackend, JobProgress, unknown>;
type AnyJob<Data> = Job<Data, unknown, string>;
/** As BullMQ declares it, which leaves out that there may be none. */
type Next<Data> = Promise<AnyJob<Data>>;

export class EagerWorker<Data> extends Worker<Data, unknown, string, IQueueBackend, JobProgress, unknown> {
  /**
   * Fetches in one round. More than the connections of a pool would wait there, while the time of their locks, which BullMQ
   * counts from the call on, runs off.
   */
  mostFetches = 4;
  /** Jobs that run, and fetches that may bring one. */
  private taken = 0;
  private tokens = 0;
  private underWay = new Set<Promise<void>>();
  private oneLost = countLost((lost) => this.emit('error', lost));
  /** Called whenever there may be room for a job. */
  private wake = () => {};

  /** BullMQ calls this from its constructor: nothing of ours is touched before the first `await`. */
  override async run(): Promise<void> {
    if (this.running) throw new Error('Worker is already running.');
    this.running = true;
    try {
      if (this.closing || this.paused) return;
      await this.startStalledCheckTimer();
      this.lockManager.start();
      // `close` and `pause` wait for it.
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
      // Only a lone fetch waits for a job to come.
      const found = await Promise.all(Array.from({ length: count }, () => this.fetch(count === 1)));
      atOnce = found.every(Boolean) ? count * 2 : 1;
    }
    while (this.underWay.size > 0) await Promise.all(this.underWay);
  }

  /** Starts the next job, if there is one; answers whether there was. */
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

  /** The job, then the one that its end brought, and so on. */
  private async runFrom(job: AnyJob<Data>, token: string): Promise<void> {
    let next: AnyJob<Data> | undefined = job;
    while (next) {
      next = (await this.processJob(next, token, () => this.taken <= this.concurrency)) as typeof next;
      this.wake();
    }
  }

  /** After a fault of the store; a worker that is closed does not wait. */
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
    return []; // those that could not be renewed are told when they end, together
  }

  protected override handleCompleted(...args: Parameters<AnyWorker<Data>['handleCompleted']>): Next<Data> {
    return this.unlessLost(super.handleCompleted(...args));
  }

  protected override handleFailed(...args: Parameters<AnyWorker<Data>['handleFailed']>): Next<Data> {
    return this.unlessLost(super.handleFailed(...args));
  }

  /** Who has a job now ends it too. */
  private async unlessLost(ended: Next<Data>): Next<Data> {
    try {
      return await ended;
    } catch (error) {
      if (!isLost(error)) throw error;
      this.oneLost();
      return undefined as never;
    }
  }
}

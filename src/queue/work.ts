/**
 * A BullMQ worker with our settings and error reports, kept running by guard.ts and keep-alive.ts.
 * On crash: the locks of its jobs expire, and BullMQ gives the jobs to another worker.
 */
import { type Job, WaitingError } from 'bullmq';
import { publish } from '../observations.ts';
import type { Backend } from './backend.ts';
import { EagerWorker } from './eager-worker.ts';
import { guarded, type Watch } from './guard.ts';
import { HandBack } from './hand-back.ts';
import { keepWorking, type RunningWorker } from './keep-alive.ts';
import type { Shard } from './shards.ts';
import { isStoreFault } from './store-faults.ts';

/** The part of a job that a processor gets. */
export interface JobPointer<T> {
  id?: string;
  data: T;
  /** Another worker took it before and let its lock expire: it died, or it is frozen or slow and will go on. */
  isTakenOver?: boolean;
}

export interface WorkOptions {
  name: string;
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

/** One job a turn of the event loop is enough for a statistic, and costs the others nothing. */
function sampleWaits(queue: string): (job: { timestamp: number }) => void {
  let isTaken = false;
  return ({ timestamp }) => {
    if (isTaken) return;
    isTaken = true;
    setImmediate(() => {
      isTaken = false;
    });
    // The clock of the process that added the job may be ahead.
    publish('jobStarted', { queue, waited: Math.max(0, Date.now() - timestamp) / 1000 });
  };
}

/** @throws WaitingError which tells BullMQ that the job is no longer the worker's */
async function handBack(job: Job, token: string | undefined): Promise<never> {
  await job.moveToWait(token);
  throw new WaitingError();
}

/** Starts to take jobs as soon as the store is available. */
export function startWork<T>(
  backend: Backend,
  processor: (job: JobPointer<T>) => Promise<unknown>,
  { name, queue, shard, concurrency, lockMs, watch, onError }: WorkOptions,
): RunningWorker {
  const options = {
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
  const noteStart = sampleWaits(name);
  return keepWorking((stopping) => {
    const connection = backend.worker(shard.server);
    const worker = new EagerWorker<T>(
      queue,
      async (job: Job<T>, token) => {
        noteStart(job);
        const pointer = { id: job.id, data: job.data, isTakenOver: job.stalledCounter > 0 };
        return processor(pointer).catch((error) =>
          error instanceof HandBack ? handBack(job, token) : Promise.reject(error),
        );
      },
      { ...options, connection },
      guarded(backend.factory, watch, stopping),
    );
    // One connection to Redis carries all fetches at once. They keep Redis busy for a millisecond or two.
    worker.mostFetches = backend.mostFetches;
    worker.on('error', (error) => (isStoreFault(error) && !stopping.aborted ? watch.failing(error) : onError(error)));
    worker.on('failed', (_job, error) => onError(error));
    return { part: worker, disconnect: () => backend.disconnect(connection) };
  }, watch.failing);
}

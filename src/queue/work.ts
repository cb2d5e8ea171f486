/**
 * A worker of BullMQ as ours run: what is set, what is reported, and what keeps it at work (guard.ts, keep-alive.ts).
 * On crash: the locks of its jobs run out, and BullMQ gives them to another worker.
 */
import type { Job } from 'bullmq';
import type { Backend } from './backend.ts';
import { EagerWorker } from './eager-worker.ts';
import { guarded, type Watch } from './guard.ts';
import { keepWorking, type RunningWorker } from './keep-alive.ts';
import { isStoreFault } from './store-faults.ts';

export interface WorkOptions {
  /** As BullMQ knows it. */
  queue: string;
  prefix: string;
  /** Jobs in progress at once. */
  concurrency: number;
  /** How long a job stays with a worker that went silent, in milliseconds. */
  lockMs: number;
  watch: Watch;
  /** Is told what a job met, or BullMQ itself. */
  onError(error: Error): void;
}

/** When a store broke a connection: it is mostly back at once. BullMQ's own 15 seconds would be a pause of all imports. */
const STORE_RETRY_MS = 1000;

/** Starts to take jobs as soon as the store can be used. */
export function startWork<T>(
  backend: Backend,
  processor: (job: { id?: string; data: T }) => Promise<unknown>,
  { queue, prefix, concurrency, lockMs, watch, onError }: WorkOptions,
): RunningWorker {
  const options = {
    autorun: false,
    prefix,
    concurrency,
    lockDuration: lockMs,
    stalledInterval: Math.max(500, lockMs / 2),
    maxStalledCount: 1000,
    runRetryDelay: STORE_RETRY_MS,
    // Kept nowhere after their end: outcomes live in the database.
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  };
  return keepWorking((stopping) => {
    const connection = backend.worker();
    const worker = new EagerWorker<T>(
      queue,
      async (job: Job<T>) => processor({ id: job.id, data: job.data }),
      { ...options, connection },
      guarded(backend.factory, watch, stopping),
    );
    // One connection to Redis takes them all at once; it does nothing else meanwhile, for a millisecond or two.
    if (backend.kind === 'redis') worker.mostFetches = 100;
    worker.on('error', (error) => (isStoreFault(error) && !stopping.aborted ? watch.failing(error) : onError(error)));
    worker.on('failed', (_job, error) => onError(error));
    return { part: worker, disconnect: () => backend.disconnect(connection) };
  }, watch.failing);
}

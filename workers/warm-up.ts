/**
 * Runs the code that takes users from the queue before the first of them comes: V8 compiles code well only after it has
 * run often, so the first 20,000 users of a process would take it a third more processor time than later ones.
 *
 * Its jobs go the way of all jobs, through BullMQ and into batches; a statement that reads no table takes the place of
 * the one that writes users. They have a queue of their own, so that no job of an import waits behind them.
 * Guarantee: it never fails, and ends within twice `mostMs`: a store that does not answer is reported by what needs it.
 * On crash: jobs that are left in its queue are done by the next process that warms up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ItemPointer } from '../src/imports/entries/item.ts';
import { openQueues, type QueueSettings, type Queues } from '../src/imports/queue/queues.ts';
import type { JobPointer } from '../src/imports/queue/worker.ts';
import { type BatchStore, type BatchWriterSettings, createBatchWriter } from '../src/imports/run/batch-writer.ts';
import { pointerJob } from '../src/imports/run/dispatch.ts';
import { processItem } from '../src/imports/run/process-job.ts';
import type { Pool } from '../src/platform/db/pool.ts';
import { withTimeout } from '../src/platform/timeouts.ts';

/** More made no difference. */
const JOBS = 1000;
/** It takes a third of a second where the stores are near. */
const MOST_MS = 2000;
const LOOK_MS = 10;
/** The id of no import. */
const NO_IMPORT = '0';
/** As in an import that has begun. */
const BATCHES: BatchWriterSettings = {
  maxBatch: 100,
  maxFlushes: 2,
  maxFlushesPerImport: 2,
  fill: { items: 100, ms: 2 },
  retryMs: { first: 100, last: 100 },
};

/** @returns how many jobs this process has done */
export async function warmUp(
  pool: Pool,
  config: Omit<QueueSettings, 'onError' | 'condition'> & { WORKER_CONCURRENCY: number },
  logger: Pick<Logger, 'debug'>,
  mostMs = MOST_MS,
): Promise<number> {
  let done = 0;
  const tell = (err: unknown) => logger.debug({ err }, 'the warm-up was cut short');
  const writer = createBatchWriter(idleStore(pool), BATCHES);
  const queues = openQueues({ ...config, onError: tell });
  const run = async (job: JobPointer<ItemPointer>) => {
    await processItem({ writer, handOver: async () => {} }, job);
    done++;
  };
  const worker = queues.work('warm-up', run, { concurrency: config.WORKER_CONCURRENCY, onError: tell });
  const close = async () => {
    writer.stop();
    await worker.stop();
    await queues.close();
  };
  await withTimeout(addAndWait(queues), mostMs, 'the warm-up').catch(tell);
  await withTimeout(close(), mostMs, 'the end of the warm-up').catch(tell);
  return done;
}

async function addAndWait(queues: Queues): Promise<void> {
  const jobs = Array.from({ length: JOBS }, (_, ordinal) => pointerJob(NO_IMPORT, ordinal, process.pid));
  await queues.add('warm-up', jobs);
  // Processes that start at the same time do each other's jobs.
  while ((await queues.depth('warm-up')) > 0) await sleep(LOOK_MS);
}

function idleStore(pool: Pool): BatchStore {
  return {
    async write(_importId, ordinals) {
      await pool.query({ name: 'warm-up', text: 'select cardinality($1::int[])', values: [ordinals] });
      return [];
    },
    // A job that fails has warmed up as well.
    async poison() {},
  };
}

/** The worker that writes users: it takes the jobs of the queue `imports` and collects them into batches. */
import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { openPool } from '../src/db/pool.ts';
import type { ItemPointer } from '../src/imports/job.ts';
import {
  type BatchFault,
  type BatchStore,
  type BatchWriterSettings,
  createBatchWriter,
} from '../src/imports/run/batch-writer.ts';
import { specialStores } from '../src/imports/run/existing/stores.ts';
import { createFairSlots } from '../src/imports/run/fair-slots.ts';
import { batchStore, processItem } from '../src/imports/run/process.ts';
import { WRITER_SESSION } from '../src/imports/run/write-batch.ts';
import { publish } from '../src/observations.ts';
import type { Hasher } from '../src/passwords/hasher.ts';
import type { Queues } from '../src/queue/queues.ts';
import type { Secrets } from '../src/secrets.ts';
import { startLoop } from './loop.ts';
import { openShare } from './share.ts';
import { timed } from './timed-store.ts';

export interface ImportWorkerDeps {
  config: Config & { DATABASE_URL: string };
  secrets: Secrets;
  hasher: Hasher;
  queues: Queues;
  logger: Logger;
}

const MAX_FLUSHES = 6;
const FILL_MS = 2;
const SHARE_MS = 2000;

/**
 * Starts to take jobs. `stop` takes no more jobs, hands back those whose password still waits to be hashed, waits until
 * the others are written, and closes the connections.
 */
export function startImportWorker({ config, secrets, hasher, queues, logger }: ImportWorkerDeps): {
  /** The number of jobs in progress. */
  inProgress(): number;
  stop(): Promise<void>;
} {
  const writerPool = openPool(config.DATABASE_URL, {
    max: MAX_FLUSHES + 2,
    name: 'muster-writer',
    settings: WRITER_SESSION,
    statementMs: config.DATABASE_TIMEOUT_MS,
    isShared: config.DATABASE_DIRECT_URL !== undefined,
  });
  const reportAs = (what: string) => (fault: BatchFault) => {
    if (fault.kind !== 'not-running') publish('importFault', fault.kind);
    logger.warn({ kind: fault.kind, err: fault.cause }, what);
  };
  const settings: BatchWriterSettings = {
    maxBatch: 1000,
    maxFlushes: MAX_FLUSHES,
    // While one waits for PostgreSQL's disk or for the row of its import, the other runs.
    maxFlushesPerImport: 2,
    fill: { items: config.WORKER_CONCURRENCY / 4, ms: FILL_MS },
    retryMs: { first: 50, last: 2000 },
    onFault: reportAs('a batch was not written'),
  };
  const codes = { codeTtlMs: config.CODE_TTL_MS };
  const share = openShare(config.WORKER_CONCURRENCY, (jobs) => worker.limit(jobs));
  const writerOf = (store: BatchStore) => createBatchWriter(share.watch(timed(store)), settings);
  const writer = writerOf(batchStore(writerPool, codes));
  const stores = specialStores(writerPool, codes);
  const special = { skip: writerOf(stores.skip), update: writerOf(stores.update), dry: writerOf(stores.dry) };
  const slots = createFairSlots(2 * config.HASH_THREADS); // for each thread, one in progress and one ready
  const deps = { writerPool, secrets, hasher, slots, writer, special, onFault: reportAs('a password was not hashed') };
  const worker = queues.work<ItemPointer>('imports', (job) => processItem(deps, job.data), {
    concurrency: config.WORKER_CONCURRENCY,
    lockMs: config.JOB_LOCK_MS,
    onError: (err) => logger.warn({ err }, 'queue'),
  });
  const sharing = startLoop('share of the queue', logger, async () => {
    share.among(await queues.workers('imports'));
    return SHARE_MS;
  });

  async function stop(): Promise<void> {
    for (const one of [slots, writer, ...Object.values(special)]) one.stop();
    await Promise.all([sharing.stop(), worker.stop()]);
    await writerPool.end();
  }
  let stopping: Promise<void> | undefined;
  return {
    inProgress: worker.inProgress,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

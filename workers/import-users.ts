/**
 * The role `import`: takes the jobs of the queue `imports`, collects them into batches, and writes users. Users with a
 * plain password go to the queue `hashes`, whose jobs wait for a thread without taking a place from others.
 *
 * Guarantee: a process that cannot reach the database takes one job at a time and leaves the rest to other processes;
 * the rescuer dispatches the jobs that it holds again. It returns to its share of the queue with the first batch that
 * reaches the database.
 * On crash: the locks of its jobs expire.
 */
import type { Logger } from 'pino';
import type { ItemPointer } from '../src/imports/entries/item.ts';
import { signInMeans } from '../src/imports/entries/sign-in-means.ts';
import { gather } from '../src/imports/queue/batching.ts';
import type { JobToAdd, Queues } from '../src/imports/queue/queues.ts';
import {
  BatchFault,
  type BatchStore,
  type BatchWriterSettings,
  createBatchWriter,
} from '../src/imports/run/batch-writer.ts';
import { openHashLane } from '../src/imports/run/hash-lane.ts';
import { hashAndWrite, processItem } from '../src/imports/run/process-job.ts';
import { batchStore, specialStores } from '../src/imports/run/stores.ts';
import { WRITER_SESSION } from '../src/imports/run/write-batch.ts';
import type { Hasher } from '../src/passwords/hasher.ts';
import type { Config } from '../src/platform/config.ts';
import { POOL_SIZES } from '../src/platform/db/connections.ts';
import { openPool, type Pool } from '../src/platform/db/pool.ts';
import type { Secrets } from '../src/platform/encryption.ts';
import { inImport, publish } from '../src/platform/telemetry.ts';
import { startLoop } from './loop.ts';

/** Batches that are written at the same time; two connections of the pool remain for other statements. */
const MAX_FLUSHES = POOL_SIZES.writer - 2;
/** How long after its first user a batch is written at the latest. */
const FILL_MS = 2;
/** How often a process counts those with which it shares the queue. */
const SHARE_MS = 2000;

/** With fewer jobs, batches would be too small. */
const LEAST = 100;

export interface ImportWorkerDeps {
  config: Config & { DATABASE_URL: string };
  secrets: Secrets;
  hasher: Hasher;
  queues: Queues;
  logger: Logger;
}

/**
 * How many jobs a worker process has in progress of `imports` and of `hashes`: its share of the queue, or one at a time
 * while it cannot write.
 */
export interface ConcurrencyShare {
  /** Sets how many processes take jobs from the two queues: those of an older version take none of `hashes`. */
  among(processes: number, hashing?: number): void;
  /** Returns the same store, whose outcomes from now on decide whether the database is unavailable. */
  watch(store: BatchStore): BatchStore;
}

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
    max: POOL_SIZES.writer,
    name: 'muster-writer',
    settings: { ...WRITER_SESSION, ...signInMeans(config) },
    statementMs: config.DATABASE_TIMEOUT_MS,
    isShared: config.DATABASE_DIRECT_URL !== undefined,
  });
  const hashesAtOnce = 2 * config.HASH_THREADS; // for each thread, one in progress and one ready
  const setLimits = (jobs: number, hashes: number) => {
    worker.limit(jobs);
    hashWorker.limit(hashes);
  };
  const share = openConcurrencyShare(config.WORKER_CONCURRENCY, setLimits, hashesAtOnce);
  const { writer, special } = openWriters(writerPool, config, share, logger);
  const lane = openHashLane(writerPool, hashesAtOnce, (err) => logger.warn({ err }, 'hashing'));
  const onFault = reporter(logger, 'a password was not hashed');
  const handOver = handOverTo(queues);
  const hashing = { writerPool, secrets, hasher, lane, writer, special, onFault };
  const settings = { lockMs: config.JOB_LOCK_MS, onError: (err: Error) => logger.warn({ err }, 'queue') };
  const worker = queues.work<ItemPointer>('imports', (job) => processItem({ writer, special, handOver }, job), {
    ...settings,
    concurrency: config.WORKER_CONCURRENCY,
  });
  const hashWorker = queues.work<ItemPointer>('hashes', (job) => hashAndWrite(hashing, job.data), {
    ...settings,
    concurrency: hashShareOf(config.WORKER_CONCURRENCY, 1, hashesAtOnce),
  });
  const sharing = startLoop('share of the queue', logger, async () => {
    share.among(await queues.workers('imports'), await queues.workers('hashes'));
    return SHARE_MS;
  });
  async function stop(): Promise<void> {
    lane.stop();
    for (const one of [writer, ...Object.values(special)]) one.stop();
    await Promise.all([sharing.stop(), worker.stop(), hashWorker.stop()]);
    await writerPool.end();
  }
  let stopping: Promise<void> | undefined;
  return {
    inProgress: () => worker.inProgress() + hashWorker.inProgress(),
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** Adds the jobs of one turn of the event loop together: a batch of users ends in one turn. */
function handOverTo(queues: Queues): (job: JobToAdd<ItemPointer>) => Promise<void> {
  const collect = gather<{ job: JobToAdd<ItemPointer>; resolve(): void; reject(error: unknown): void }>({
    mostAtOnce: 1000,
    mostStatements: 1,
    async send(calls) {
      // Jobs of two deliveries may have the same id.
      const jobs = [...new Map(calls.map(({ job }) => [job.id, job])).values()];
      await queues.add('hashes', jobs).then(
        () => calls.forEach((call) => void call.resolve()),
        (error) => calls.forEach((call) => void call.reject(error)),
      );
    },
  });
  return (job) => new Promise((resolve, reject) => collect({ job, resolve, reject }));
}

/** The writers of batches: for imports of new users, and for each kind of import that does something else. */
function openWriters(pool: Pool, config: Config, share: ConcurrencyShare, logger: Logger) {
  const settings: BatchWriterSettings = {
    maxBatch: 1000,
    maxFlushes: MAX_FLUSHES,
    // While one waits for PostgreSQL's disk or for the row of its import, the other runs.
    maxFlushesPerImport: 2,
    fill: { items: config.WORKER_CONCURRENCY / 4, ms: FILL_MS },
    retryMs: { first: 50, last: 2000 },
    onFault: reporter(logger, 'a batch was not written'),
  };
  const codes = { codeTtlMs: config.CODE_TTL_MS };
  const writerOf = (store: BatchStore) => createBatchWriter(share.watch(timed(store)), settings);
  const stores = specialStores(pool, codes);
  return {
    writer: writerOf(batchStore(pool, codes)),
    special: { skip: writerOf(stores.skip), update: writerOf(stores.update), dry: writerOf(stores.dry) },
  };
}

/** @param what the text of the log line */
function reporter(logger: Logger, what: string): (fault: BatchFault) => void {
  return (fault) => {
    if (fault.kind !== 'not-running') publish('importFault', fault.kind);
    logger.warn({ kind: fault.kind, err: fault.cause }, what);
  };
}

/** Records each batch, and tells `/metrics` the size and the duration of each that was written. */
function timed(store: BatchStore): BatchStore {
  return {
    ...store,
    async write(importId, ordinals) {
      const began = performance.now();
      const sealed = await inImport(importId, 'import.batch', { 'muster.users': ordinals.length }, () =>
        store.write(importId, ordinals),
      );
      publish('batch', { users: ordinals.length, seconds: (performance.now() - began) / 1000 });
      return sealed;
    },
  };
}

/**
 * @param limit sets how many jobs are in progress at once
 * @param leastHashes how many of them, of `hashes`, keep all threads busy
 */
export function openConcurrencyShare(
  concurrency: number,
  limit: (jobs: number, hashes: number) => void,
  leastHashes = 1,
): ConcurrencyShare {
  let processes = 1;
  let hashing = 1;
  let isAway = false;

  function apply(): void {
    if (isAway) limit(1, 1);
    else limit(shareOf(concurrency, processes), hashShareOf(concurrency, hashing, leastHashes));
  }

  function setAway(away: boolean): void {
    if (away === isAway) return;
    isAway = away;
    apply();
  }
  return {
    among(count, countHashing = count) {
      processes = count;
      hashing = countHashing;
      apply();
    },
    watch: (store) => ({
      ...store,
      async write(importId, ordinals) {
        try {
          const sealed = await store.write(importId, ordinals);
          setAway(false);
          return sealed;
        } catch (error) {
          // Other errors come from a database that answers, about this import or its rows, or are bugs of ours.
          setAway(error instanceof BatchFault && error.kind === 'retry');
          throw error;
        }
      },
    }),
  };
}

/**
 * How many jobs one of several processes has in progress. Together they have about as many as one would have alone: if
 * each took that many, they would empty the queue, and batches would shrink as more processes wait for the next jobs.
 */
export function shareOf(concurrency: number, processes: number): number {
  return Math.min(concurrency, Math.max(LEAST, Math.ceil(concurrency / Math.max(1, processes))));
}

/**
 * How many jobs of `hashes` one of several processes has in progress. Most of them wait, so that imports can take turns;
 * more would keep them from the threads of other processes.
 */
function hashShareOf(concurrency: number, processes: number, least: number): number {
  return Math.max(least, Math.ceil(concurrency / Math.max(1, processes)));
}

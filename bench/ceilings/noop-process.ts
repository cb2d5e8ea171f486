/**
 * A process of the no-op ceiling: a producer or a worker of plain BullMQ, with the options that are fastest on either
 * backend, controlled over IPC. It ends when its parent does.
 *
 * A worker reports how many jobs it has done, every 20 ms while that changes. A producer reports when it is connected.
 */
import process from 'node:process';
import { createPostgresBackend, createRedisBackend, type JobsOptions, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

const REPORT_MS = 20;
const ADD_CHUNK = 1000;
/**
 * Jobs are removed when they end, so that nothing accumulates. On Redis a worker option is fastest, because it keeps
 * the jobs smaller; on PostgreSQL a job option is, because the statement that completes the job then deletes it.
 */
const JOB_OPTIONS = { redis: {}, postgres: { removeOnComplete: true, removeOnFail: true } };
const WORKER_OPTIONS = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
/** BullMQ's event stream, which has no readers here. */
const STREAMS = { events: { maxLen: 100 } };

/** What the process is to do. */
export type NoopOrder =
  | { role: 'producer'; store: NoopStore; jobs: number }
  | { role: 'worker'; store: NoopStore; concurrency: number };

/** What it reports. */
export interface NoopReport {
  /** The process is connected; a producer then waits for the message to begin. */
  ready?: true;
  /** Jobs done so far by this worker. */
  done?: number;
}

/** Where a no-op queue is; sent to the processes that use it. */
export interface NoopStore {
  kind: 'redis' | 'postgres';
  /** The server's URL; for PostgreSQL including a database with BullMQ's tables. */
  url: string;
  name: string;
}

process.on('disconnect', () => process.exit(0));
process.once('message', (order: NoopOrder) => (order.role === 'producer' ? produce(order) : work(order)));

function report(message: NoopReport): void {
  process.send?.(message);
}

async function produce({ store, jobs }: Extract<NoopOrder, { role: 'producer' }>): Promise<void> {
  const queue = await openNoopQueue(store);
  process.once('message', () => addNoops(queue, store.kind, jobs));
  report({ ready: true });
}

async function work({ store, concurrency }: Extract<NoopOrder, { role: 'worker' }>): Promise<void> {
  let done = 0;
  let reported = 0;
  await startNoopWorker(store, concurrency, () => done++);
  setInterval(() => {
    if (done === reported) return;
    reported = done;
    report({ done });
  }, REPORT_MS);
  report({ ready: true });
}

/** Adds `jobs` pointers, 1,000 at a time. */
async function addNoops(queue: Queue, kind: NoopStore['kind'], jobs: number): Promise<void> {
  for (let from = 0; from < jobs; from += ADD_CHUNK) {
    const length = Math.min(ADD_CHUNK, jobs - from);
    await queue.addBulk(Array.from({ length }, (_, i) => pointerJob(from + i, JOB_OPTIONS[kind])));
  }
}

/** The shape of the service's own jobs: import and ordinal, and an id made of them. */
function pointerJob(ordinal: number, options: JobsOptions) {
  return { name: 'j', data: { i: '1', o: ordinal }, opts: { ...options, jobId: `i1-${ordinal}` } };
}

async function openNoopQueue(store: NoopStore): Promise<Queue> {
  const { kind, url, name } = store;
  const queue =
    kind === 'redis'
      ? new Queue(name, { connection: connect(url), streams: STREAMS }, createRedisBackend)
      : new Queue(name, { connection: pgPool(url, 2) }, createPostgresBackend);
  await queue.waitUntilReady();
  return queue as Queue;
}

/** Starts a worker; `onJob` is called for each job. */
async function startNoopWorker(store: NoopStore, concurrency: number, onJob: () => void): Promise<void> {
  const { kind, url, name } = store;
  const work = async () => onJob();
  const options = { ...WORKER_OPTIONS, concurrency };
  const worker =
    kind === 'redis'
      ? new Worker(name, work, { ...options, connection: connect(url) }, createRedisBackend)
      : new Worker(name, work, { ...options, connection: pgPool(url, 8) }, createPostgresBackend);
  worker.on('error', (error) => {
    throw error;
  });
  await worker.waitUntilReady();
}

function connect(url: string): Redis {
  return new Redis(url, { maxRetriesPerRequest: null });
}

/** Like the service's pool: a queue need not wait for the disk, and more connections are better. */
function pgPool(connectionString: string, max: number) {
  return { connectionString, max, options: '-c synchronous_commit=off' };
}

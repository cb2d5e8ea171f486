import { Queue } from 'bullmq';
import type { Condition } from '../../platform/lifecycle.ts';
import { type AnyQueue, type Backend, type BackendSettings, chooseBackend } from './backend.ts';
import { keepProducer, type Made, type RunningWorker } from './keep-alive.ts';
import { type Shard, type ShardProducers, shardProducers, workOnShards } from './shards.ts';
import { type JobPointer, startWork } from './worker.ts';

export type { AnyQueue, QueueName } from './backend.ts';
export type { RunningWorker } from './keep-alive.ts';

/**
 * The queues, on either backend. On Redis, the jobs of imports are spread over shards: shards.ts.
 *
 * Guarantee: a job is only a pointer to rows of the database. If the whole queue is lost, no work is lost, because the
 * dispatcher and the mail relay enqueue everything unsettled again.
 * On crash: a job's lock expires, and BullMQ gives the job to another worker.
 */

export interface JobToAdd<T> {
  /** Adding the same id again while the job exists changes nothing. It must not be all digits or contain a colon. */
  id: string;
  data: T;
  /** Runs before all waiting jobs. */
  urgent?: boolean;
  /** For `imports`: jobs with successive whole numbers go to successive shards. Default: 0. */
  shardNumber?: number;
}

export interface WorkerSettings {
  /** Jobs in progress at once in this process. */
  concurrency: number;
  /** How long a job stays with an unresponsive worker, in milliseconds. */
  lockMs?: number;
  onError?: (error: Error) => void;
  /** Called when the store fails. A store that restarts may hand out jobs again that are still in progress. */
  onStoreFault?: () => void;
}

export interface Queues {
  kind: 'redis' | 'postgres';
  /** The number of shards that get the new jobs of imports. */
  shards: number;
  /**
   * Adds jobs in chunks of at most 1,000. With several shards, jobs go to other shards while theirs fails, and may then
   * be there twice.
   * @throws TimedOut when the queue is silent for 10 seconds; so do `depth` and `workers`
   */
  add<T>(queue: AnyQueue, jobs: JobToAdd<T>[]): Promise<void>;
  /** The number of jobs that wait or run, on the shards that answer. */
  depth(queue: AnyQueue): Promise<number>;
  /** The number of worker processes that take jobs from the queue. */
  workers(queue: AnyQueue): Promise<number>;
  /** @throws Error when jobs cannot currently be added */
  check(): Promise<void>;
  /** Deletes all jobs. For tests: the dispatcher must survive it. */
  drop(queue: AnyQueue): Promise<void>;
  /** @param processor may throw `HandBack` */
  work<T>(
    queue: AnyQueue,
    processor: (job: JobPointer<T>) => Promise<unknown>,
    settings: WorkerSettings,
  ): RunningWorker;
  close(): Promise<void>;
}

export interface QueueSettings extends BackendSettings {
  onError?: (error: Error) => void;
  /** Told whether workers can fetch jobs, under `imports queue`, `hashes queue`, `mails queue` and, by shard, `imports queue 1` … */
  condition?: Condition;
}

const ADD_CHUNK = 1000;
/** The queue that is spread over shards. */
const SPREAD: AnyQueue = 'imports';

/** The part of a BullMQ queue that is used here; its full type depends on its backend. */
type JobSink = Pick<
  Queue,
  'addBulk' | 'getJobCounts' | 'getWorkersCount' | 'obliterate' | 'waitUntilReady' | 'close'
> & { check(): Promise<unknown> };

/** What the queues of one call of `openQueues` share. */
interface Opened {
  settings: QueueSettings;
  backend: Backend;
  onError(error: Error): void;
  producers: Record<AnyQueue, ShardProducers<JobSink>>;
}

/** Connects lazily; the queues exist once the first job is added. */
export function openQueues(settings: QueueSettings): Queues {
  const onError = settings.onError ?? (() => {});
  const backend = chooseBackend({ onWarning: (reason) => onError(new Error(reason)), ...settings });
  const producersOf = (name: AnyQueue) =>
    shardProducers(
      shardsOf(backend, name).map((shard) => keepProducer(() => openSink(opened, name, shard))),
      (q) => q.check(),
    );
  const producers = {
    imports: producersOf('imports'),
    hashes: producersOf('hashes'),
    mails: producersOf('mails'),
    'warm-up': producersOf('warm-up'),
  };
  const opened: Opened = { settings, backend, onError, producers };
  return {
    kind: backend.kind,
    shards: backend.shards.length,
    async add(name, jobs) {
      const groups = byShard(jobs, shardsOf(backend, name).length);
      await Promise.all(groups.map((group, shard) => addTo(opened, name, shard, group)));
    },
    async depth(name) {
      const counts = await producers[name].read((q) => q.getJobCounts('waiting', 'active', 'delayed', 'prioritized'));
      return counts.flatMap((one) => Object.values(one)).reduce((a, b) => a + b, 0);
    },
    // Each process has a worker on every shard.
    workers: async (name) => Math.max(...(await producers[name].read((q) => q.getWorkersCount()))),
    check: () => producers.imports.use(0, async (q) => void (await q.check())),
    async drop(name) {
      await producers[name].read((q) => q.obliterate({ force: true }));
    },
    work: (name, processor, work) => startWorkers(opened, name, processor, work),
    async close() {
      await Promise.all(Object.values(producers).map((one) => one.close()));
      backend.close();
    },
  };
}

/** The queue's name in BullMQ. */
function nameOf({ settings }: Opened, name: AnyQueue): string {
  return `${settings.QUEUE_PREFIX}-${name}`;
}

function shardsOf({ shards }: Backend, name: AnyQueue): readonly Shard[] {
  return name === SPREAD ? shards : shards.slice(0, 1);
}

function openSink(opened: Opened, name: AnyQueue, shard: Shard): Made<JobSink> {
  const { backend, onError } = opened;
  const connection = backend.producer(shard.server, name);
  const streams = { events: { maxLen: backend.mostEvents } };
  const options = { connection, prefix: shard.prefix, streams };
  const made = new Queue(nameOf(opened, name), options, backend.factory);
  made.on('error', onError);
  const part = Object.assign(made as unknown as Queue, { check: () => backend.check(connection, shard) });
  return { part, disconnect: () => backend.disconnect(connection) };
}

async function addTo<T>(opened: Opened, name: AnyQueue, shard: number, jobs: JobToAdd<T>[]): Promise<void> {
  const { backend, producers } = opened;
  for (let i = 0; i < jobs.length; i += ADD_CHUNK) {
    const chunk = jobs.slice(i, i + ADD_CHUNK).map((job) => ({
      name: 'j',
      data: job.data,
      opts: { ...backend.jobOptions, jobId: job.id, ...(job.urgent ? { lifo: true } : {}) },
    }));
    await producers[name].use(shard, (q) => q.addBulk(chunk));
  }
}

/** The jobs of each shard, in their order. */
function byShard<T>(jobs: JobToAdd<T>[], shards: number): JobToAdd<T>[][] {
  if (shards === 1) return [jobs];
  const groups: JobToAdd<T>[][] = Array.from({ length: shards }, () => []);
  for (const job of jobs) groups[(job.shardNumber ?? 0) % shards]?.push(job);
  return groups;
}

/** Starts a worker on each shard that the queue has. */
function startWorkers<T>(
  opened: Opened,
  name: AnyQueue,
  processor: (job: JobPointer<T>) => Promise<unknown>,
  work: WorkerSettings,
): RunningWorker {
  const { backend } = opened;
  if (name !== SPREAD || backend.kind !== 'redis') {
    return startOn(opened, name, processor, backend.shards[0] as Shard, work);
  }
  return workOnShards({
    shards: backend.shards,
    others: () => backend.otherShards(nameOf(opened, name)),
    concurrency: work.concurrency,
    start: (shard, concurrency) => startOn(opened, name, processor, shard, { ...work, concurrency }),
  });
}

function startOn<T>(
  opened: Opened,
  name: AnyQueue,
  processor: (job: JobPointer<T>) => Promise<unknown>,
  shard: Shard,
  { concurrency, lockMs = 20_000, onError = opened.onError, onStoreFault }: WorkerSettings,
): RunningWorker {
  const { condition } = opened.settings;
  const part = shard.number === 0 ? `${name} queue` : `${name} queue ${shard.number}`;
  const watch = {
    working: () => condition?.working(part),
    failing(error: Error) {
      onStoreFault?.();
      condition?.failing(part);
      onError(error);
    },
  };
  const queue = nameOf(opened, name);
  return startWork(opened.backend, processor, { name, queue, shard, concurrency, lockMs, watch, onError });
}

import { Queue } from 'bullmq';
import type { Condition } from '../../platform/lifecycle.ts';
import { type BackendSettings, chooseBackend } from './backend.ts';
import { keepProducer, type RunningWorker } from './keep-alive.ts';
import { type Shard, shardProducers, workOnShards } from './shards.ts';
import { type JobPointer, startWork } from './worker.ts';
/**
 * The queues, on either backend. On Redis, the jobs of imports are spread over shards: shards.ts.
 *
 * Guarantee: a job is only a pointer to rows of the database. If the whole queue is lost, no work is lost, because the
 * dispatcher and the mail relay enqueue everything unsettled again.
 * On crash: a job's lock expires, and BullMQ gives the job to another worker.
 */

export type QueueName = 'imports' | 'mails';

export interface JobToAdd<T> {
  /** Adding the same id again while the job exists changes nothing. It must not be all digits or contain a colon. */
  id: string;
  data: T;
  /** Runs before all waiting jobs. */
  urgent?: boolean;
  /** For `imports`: jobs with successive whole numbers go to successive shards. Default: 0. */
  lane?: number;
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
  add<T>(queue: QueueName, jobs: JobToAdd<T>[]): Promise<void>;
  /** The number of jobs that wait or run, on the shards that answer. */
  depth(queue: QueueName): Promise<number>;
  /** The number of worker processes that take jobs from the queue. */
  workers(queue: QueueName): Promise<number>;
  /** @throws Error when jobs cannot currently be added */
  check(): Promise<void>;
  /** Deletes all jobs. For tests: the dispatcher must survive it. */
  drop(queue: QueueName): Promise<void>;
  /** @param processor may throw `HandBack` */
  work<T>(
    queue: QueueName,
    processor: (job: JobPointer<T>) => Promise<unknown>,
    settings: WorkerSettings,
  ): RunningWorker;
  close(): Promise<void>;
}

export interface QueueSettings extends BackendSettings {
  onError?: (error: Error) => void;
  /** Told whether workers can fetch jobs, under `imports queue`, `mails queue` and, by shard, `imports queue 1` … */
  condition?: Condition;
}

const ADD_CHUNK = 1000;
/** The queue that is spread over shards. */
const SPREAD: QueueName = 'imports';

/** The part of a BullMQ queue that is used here; its full type depends on its backend. */
type JobSink = Pick<
  Queue,
  'addBulk' | 'getJobCounts' | 'getWorkersCount' | 'obliterate' | 'waitUntilReady' | 'close'
> & { check(): Promise<unknown> };

/** Connects lazily; the queues exist once the first job is added. */
export function openQueues(settings: QueueSettings): Queues {
  const onError = settings.onError ?? (() => {});
  const backend = chooseBackend({ onWarning: (reason) => onError(new Error(reason)), ...settings });
  const nameOf = (name: QueueName) => `${settings.QUEUE_PREFIX}-${name}`;
  const shardsOf = (name: QueueName) => (name === SPREAD ? backend.shards : backend.shards.slice(0, 1));
  const producersOf = (name: QueueName) =>
    shardProducers(
      shardsOf(name).map((shard) => keepProducer(() => makeQueue(name, shard))),
      (q) => q.check(),
    );
  const queues = { imports: producersOf('imports'), mails: producersOf('mails') };

  function makeQueue(name: QueueName, shard: Shard) {
    const { server, prefix } = shard;
    const connection = backend.producer(server);
    const made = new Queue(
      nameOf(name),
      {
        connection,
        prefix,
        streams: { events: { maxLen: backend.mostEvents } },
      },
      backend.factory,
    );
    made.on('error', onError);
    const part = Object.assign(made as unknown as Queue, { check: () => backend.check(connection, shard) });
    return { part: part as JobSink, disconnect: () => backend.disconnect(connection) };
  }

  async function addTo<T>(name: QueueName, shard: number, jobs: JobToAdd<T>[]): Promise<void> {
    for (let i = 0; i < jobs.length; i += ADD_CHUNK) {
      const chunk = jobs.slice(i, i + ADD_CHUNK).map((job) => ({
        name: 'j',
        data: job.data,
        opts: { ...backend.jobOptions, jobId: job.id, ...(job.urgent ? { lifo: true } : {}) },
      }));
      await queues[name].use(shard, (q) => q.addBulk(chunk));
    }
  }

  function startOn<T>(
    name: QueueName,
    processor: (job: JobPointer<T>) => Promise<unknown>,
    shard: Shard,
    { concurrency, lockMs = 20_000, onError: report = onError, onStoreFault }: WorkerSettings,
  ): RunningWorker {
    const part = shard.number === 0 ? `${name} queue` : `${name} queue ${shard.number}`;
    const watch = {
      working: () => settings.condition?.working(part),
      failing(error: Error) {
        onStoreFault?.();
        settings.condition?.failing(part);
        report(error);
      },
    };
    return startWork(backend, processor, {
      name,
      queue: nameOf(name),
      shard,
      concurrency,
      lockMs,
      watch,
      onError: report,
    });
  }

  return {
    kind: backend.kind,
    shards: backend.shards.length,
    async add(name, jobs) {
      const groups = byShard(jobs, shardsOf(name).length);
      await Promise.all(groups.map((group, shard) => addTo(name, shard, group)));
    },
    async depth(name) {
      const counts = await queues[name].read((q) => q.getJobCounts('waiting', 'active', 'delayed', 'prioritized'));
      return counts.flatMap((one) => Object.values(one)).reduce((a, b) => a + b, 0);
    },
    // Each process has a worker on every shard.
    workers: async (name) => Math.max(...(await queues[name].read((q) => q.getWorkersCount()))),
    async check() {
      await queues.imports.use(0, (q) => q.check());
    },
    async drop(name) {
      await queues[name].read((q) => q.obliterate({ force: true }));
    },
    work(name, processor, work) {
      if (name !== SPREAD || backend.kind !== 'redis') {
        return startOn(name, processor, backend.shards[0] as Shard, work);
      }
      return workOnShards({
        shards: backend.shards,
        others: () => backend.otherShards(nameOf(name)),
        concurrency: work.concurrency,
        start: (shard, concurrency) => startOn(name, processor, shard, { ...work, concurrency }),
      });
    },
    async close() {
      await Promise.all(Object.values(queues).map((one) => one.close()));
      backend.close();
    },
  };
}

/** The jobs of each shard, in their order. */
function byShard<T>(jobs: JobToAdd<T>[], shards: number): JobToAdd<T>[][] {
  if (shards === 1) return [jobs];
  const groups: JobToAdd<T>[][] = Array.from({ length: shards }, () => []);
  for (const job of jobs) groups[(job.lane ?? 0) % shards]?.push(job);
  return groups;
}

export type { RunningWorker } from './keep-alive.ts';

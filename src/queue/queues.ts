/**
 * The queues, on either backend.
 *
 * Guarantee: a job is only a pointer to rows of the database. If the whole queue is lost, no work is lost, because the
 * dispatcher and the mail relay enqueue everything unsettled again.
 * On crash: a job's lock expires, and BullMQ gives the job to another worker.
 */
import { Queue } from 'bullmq';
import type { Condition } from '../condition.ts';
import { type BackendSettings, chooseBackend } from './backend.ts';
import { keepProducer, type Producer, type RunningWorker } from './keep-alive.ts';
import { type JobPointer, startWork } from './work.ts';

export type { RunningWorker } from './keep-alive.ts';

export type QueueName = 'imports' | 'mails';

export interface JobToAdd<T> {
  /** Adding the same id again while the job exists changes nothing. It must not be all digits or contain a colon. */
  id: string;
  data: T;
  /** Runs before all waiting jobs. */
  urgent?: boolean;
}

export interface WorkerSettings {
  /** Jobs in progress at once in this process. */
  concurrency: number;
  /** How long a job stays with an unresponsive worker, in milliseconds. */
  lockMs?: number;
  onError?: (error: Error) => void;
}

export interface Queues {
  kind: 'redis' | 'postgres';
  /**
   * Adds jobs in chunks of at most 1,000.
   * @throws TimedOut when the queue is silent for 10 seconds; so do `depth` and `workers`
   */
  add<T>(queue: QueueName, jobs: JobToAdd<T>[]): Promise<void>;
  /** The number of jobs that wait or run. */
  depth(queue: QueueName): Promise<number>;
  /** The number of worker processes that take jobs from the queue. */
  workers(queue: QueueName): Promise<number>;
  /** @throws Error when jobs cannot currently be added */
  check(): Promise<void>;
  /** Deletes all jobs. For tests: the dispatcher must survive it. */
  drop(queue: QueueName): Promise<void>;
  work<T>(
    queue: QueueName,
    processor: (job: JobPointer<T>) => Promise<unknown>,
    settings: WorkerSettings,
  ): RunningWorker;
  close(): Promise<void>;
}

export interface QueueSettings extends BackendSettings {
  QUEUE_PREFIX: string;
  onError?: (error: Error) => void;
  /** Told whether workers can fetch jobs, under the names `imports queue` and `mails queue`. */
  condition?: Condition;
}

const ADD_CHUNK = 1000;

/** The part of a BullMQ queue that is used here; its full type depends on its backend. */
type JobSink = Pick<
  Queue,
  'addBulk' | 'getJobCounts' | 'getWorkersCount' | 'isPaused' | 'obliterate' | 'waitUntilReady' | 'close'
>;

/** Connects lazily; the queues exist once the first job is added. */
export function openQueues(settings: QueueSettings): Queues {
  const onError = settings.onError ?? (() => {});
  const backend = chooseBackend({ onWarning: (reason) => onError(new Error(reason)), ...settings });
  const open = new Map<QueueName, Producer<JobSink>>();

  function queue(name: QueueName): Producer<JobSink> {
    const known = open.get(name) ?? keepProducer(() => makeQueue(name));
    open.set(name, known);
    return known;
  }

  function makeQueue(name: QueueName) {
    const connection = backend.producer();
    const made = new Queue(
      `${settings.QUEUE_PREFIX}-${name}`,
      {
        connection,
        prefix: settings.QUEUE_PREFIX,
        // The database tracks the state of jobs; only BullMQ itself uses the event stream.
        streams: { events: { maxLen: 100 } },
      },
      backend.factory,
    );
    made.on('error', onError);
    return { part: made as unknown as JobSink, disconnect: () => backend.disconnect(connection) };
  }

  return {
    kind: backend.kind,
    async add(name, jobs) {
      for (let i = 0; i < jobs.length; i += ADD_CHUNK) {
        const chunk = jobs.slice(i, i + ADD_CHUNK).map((job) => ({
          name: 'j',
          data: job.data,
          opts: { ...backend.jobOptions, jobId: job.id, ...(job.urgent ? { lifo: true } : {}) },
        }));
        await queue(name).use((q) => q.addBulk(chunk));
      }
    },
    async depth(name) {
      const counts = await queue(name).use((q) => q.getJobCounts('waiting', 'active', 'delayed', 'prioritized'));
      return Object.values(counts).reduce((a, b) => a + b, 0);
    },
    workers: (name) => queue(name).use((q) => q.getWorkersCount()),
    async check() {
      await queue('imports').use((q) => q.isPaused());
    },
    async drop(name) {
      await queue(name).use((q) => q.obliterate({ force: true }));
    },
    work(name, processor, { concurrency, lockMs = 20_000, onError: report = onError }) {
      const part = `${name} queue`;
      const watch = {
        working: () => settings.condition?.working(part),
        failing(error: Error) {
          settings.condition?.failing(part);
          report(error);
        },
      };
      const { QUEUE_PREFIX: prefix } = settings;
      const queue = `${prefix}-${name}`;
      return startWork(backend, processor, { queue, prefix, concurrency, lockMs, watch, onError: report });
    },
    async close() {
      await Promise.all([...open.values()].map((producer) => producer.close()));
    },
  };
}

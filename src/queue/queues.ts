/**
 * The queues, whatever backend holds them.
 *
 * Guarantee: a job is a pointer to rows of the database; whoever loses the whole queue loses no work, as the
 * dispatcher and the relay hand everything unsettled out again.
 * If we die here a job's lock runs out and BullMQ gives the job to another worker.
 */
import { Queue, Worker } from 'bullmq';
import { chooseBackend } from './backend.ts';

export type QueueName = 'imports' | 'mails';

/** What a processor sees of a job. */
export interface JobPointer<T> {
  id?: string;
  data: T;
}

export interface JobToAdd<T> {
  /** Same id, same job: adding it again while it exists changes nothing. Neither all digits nor with a colon. */
  id: string;
  data: T;
  /** Goes before everything that waits. */
  urgent?: boolean;
}

export interface WorkerSettings {
  /** Jobs in progress at once in this process. */
  concurrency: number;
  /** How long a job stays with a worker that went silent, in milliseconds. */
  lockMs?: number;
  onError?: (error: Error) => void;
}

export interface RunningWorker {
  /** From now on this many jobs are in progress at once, instead of `concurrency`; those that are more end first. */
  limit(jobs: number): void;
  /** Takes no further job and waits for those in progress. */
  stop(): Promise<void>;
}

export interface Queues {
  kind: 'redis' | 'postgres';
  /** Adds jobs in chunks of at most 1,000. */
  add<T>(queue: QueueName, jobs: JobToAdd<T>[]): Promise<void>;
  /** Jobs that wait or run, for tests and `status`. */
  depth(queue: QueueName): Promise<number>;
  /** Worker processes that take jobs of the queue. */
  workers(queue: QueueName): Promise<number>;
  /** Throws all jobs away, for tests: what the dispatcher must survive. */
  drop(queue: QueueName): Promise<void>;
  work<T>(
    queue: QueueName,
    processor: (job: JobPointer<T>) => Promise<unknown>,
    settings: WorkerSettings,
  ): RunningWorker;
  close(): Promise<void>;
}

export interface QueueSettings {
  REDIS_URL?: string | undefined;
  DATABASE_URL: string;
  QUEUE_PREFIX: string;
  onError?: (error: Error) => void;
}

const ADD_CHUNK = 1000;
/** When a store broke a connection: it is mostly back at once. BullMQ's own 15 seconds would be a pause of all imports. */
const STORE_RETRY_MS = 1000;

/** What is used of a BullMQ queue, whose own type depends on its backend. */
type JobSink = Pick<Queue, 'addBulk' | 'getJobCounts' | 'getWorkersCount' | 'obliterate' | 'close'>;

/** Connects lazily; the queues exist once the first job is added. */
export function openQueues(settings: QueueSettings): Queues {
  const backend = chooseBackend(settings);
  const onError = settings.onError ?? (() => {});
  const open = new Map<QueueName, JobSink>();

  function queue(name: QueueName): JobSink {
    const known = open.get(name);
    if (known) return known;
    const made = new Queue(
      `${settings.QUEUE_PREFIX}-${name}`,
      {
        connection: backend.producer(),
        prefix: settings.QUEUE_PREFIX,
        // A job's life is followed in the database; the event stream is only BullMQ's own.
        streams: { events: { maxLen: 100 } },
      },
      backend.factory,
    );
    made.on('error', onError);
    open.set(name, made as unknown as JobSink);
    return made as unknown as JobSink;
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
        await queue(name).addBulk(chunk);
      }
    },
    async depth(name) {
      const counts = await queue(name).getJobCounts('waiting', 'active', 'delayed', 'prioritized');
      return Object.values(counts).reduce((a, b) => a + b, 0);
    },
    workers: (name) => queue(name).getWorkersCount(),
    async drop(name) {
      await queue(name).obliterate({ force: true });
    },
    work(name, processor, worker) {
      const lockDuration = worker.lockMs ?? 20_000;
      const w = new Worker(
        `${settings.QUEUE_PREFIX}-${name}`,
        async (job) => processor({ id: job.id, data: job.data }),
        {
          connection: backend.worker(),
          prefix: settings.QUEUE_PREFIX,
          concurrency: worker.concurrency,
          lockDuration,
          stalledInterval: Math.max(500, lockDuration / 2),
          maxStalledCount: 1000,
          runRetryDelay: STORE_RETRY_MS,
          // Kept nowhere after their end: outcomes live in the database.
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
        },
        backend.factory,
      );
      w.on('error', worker.onError ?? onError);
      w.on('failed', (_job, error) => (worker.onError ?? onError)(error));
      return {
        limit(jobs) {
          w.concurrency = jobs;
        },
        stop: () => w.close(),
      };
    },
    async close() {
      await Promise.all([...open.values()].map((q) => q.close()));
      await backend.close();
    },
  };
}

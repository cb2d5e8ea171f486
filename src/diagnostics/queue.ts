/** The current state of the queue: its jobs, its workers, and whether its store is reliable. */
import type { Db } from '../db/pool.ts';
import type { QueueName, Queues } from '../queue/queues.ts';
import { type RedisFacts, readRedisFacts } from '../queue/redis-facts.ts';
import { withTimeout } from '../timeout.ts';

/** Time limit for one read from the store, in milliseconds. */
const PATIENCE_MS = 4000;

export interface QueueFacts {
  backend: Queues['kind'];
  /** Whether the store of the queue responds. */
  answers: boolean;
  /** Waiting and running jobs. */
  jobs?: Record<QueueName, number>;
  /** Worker processes of each queue. */
  workers?: Record<QueueName, number>;
  /** Whether a worker dispatches the users of imports; without one, the queue stays empty. */
  dispatching: boolean;
  redis?: RedisFacts;
}

export interface QueueFactsDeps {
  pool: Db;
  queues: Pick<Queues, 'kind' | 'depth' | 'workers'>;
  config: { REDIS_URL?: string | undefined };
}

export async function queueFacts({ pool, queues, config }: QueueFactsDeps): Promise<QueueFacts> {
  const url = config.REDIS_URL;
  const [jobs, workers, redis, dispatching] = await Promise.all([
    ifItAnswers(byQueue((queue) => queues.depth(queue))),
    ifItAnswers(byQueue((queue) => queues.workers(queue))),
    url === undefined ? undefined : ifItAnswers(readRedisFacts(url)),
    isDispatching(pool),
  ]);
  return {
    backend: queues.kind,
    answers: jobs !== undefined,
    ...(jobs ? { jobs } : {}),
    ...(workers ? { workers } : {}),
    dispatching,
    ...(redis ? { redis } : {}),
  };
}

/** The value, or undefined if the store fails or takes too long, as the other facts are useful without it. */
function ifItAnswers<T>(read: Promise<T>): Promise<T | undefined> {
  return withTimeout(read, PATIENCE_MS, 'the queue').catch(() => undefined);
}

async function byQueue(read: (queue: QueueName) => Promise<number>): Promise<Record<QueueName, number>> {
  const [imports, mails] = await Promise.all([read('imports'), read('mails')]);
  return { imports, mails };
}

async function isDispatching(db: Db): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from leases where name = 'dispatcher' and expires_at > clock_timestamp()`,
  );
  return rowCount === 1;
}

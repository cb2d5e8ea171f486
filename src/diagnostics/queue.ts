/** The current state of the queue: its jobs, its workers, and whether its store is reliable. */
import type { Db } from '../db/pool.ts';
import type { QueueName, Queues } from '../queue/queues.ts';
import type { RedisFacts } from '../queue/redis-facts.ts';
import { type RedisNode, readRedisNodes } from '../queue/redis-nodes.ts';
import { withTimeout } from '../timeout.ts';
import { byQueue, heldDuties, liveWorkers, type Role, workersByRole } from './live-workers.ts';

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
  /** Worker processes by role, as they report themselves. */
  roles: Record<Role, number>;
  /** Whether a worker dispatches the users of imports; without one, the queue stays empty. */
  dispatching: boolean;
  /** The first server that answers. */
  redis?: RedisFacts;
  /** All servers, if there are several. */
  redisNodes?: { role: RedisNode['role']; answers: boolean; facts?: RedisFacts }[];
}

export interface QueueFactsDeps {
  pool: Db;
  queues: Pick<Queues, 'kind' | 'depth' | 'workers'>;
  config: { REDIS_URL?: string | undefined };
}

export async function queueFacts({ pool, queues, config }: QueueFactsDeps): Promise<QueueFacts> {
  const url = config.REDIS_URL;
  const [jobs, workers, nodes, duties, roles] = await Promise.all([
    ifItAnswers(byQueue((queue) => queues.depth(queue))),
    ifItAnswers(liveWorkers(queues)),
    url === undefined ? undefined : ifItAnswers(readRedisNodes(url)),
    heldDuties(pool),
    workersByRole(pool),
  ]);
  return {
    backend: queues.kind,
    answers: jobs !== undefined,
    ...(jobs ? { jobs } : {}),
    ...(workers ? { workers } : {}),
    roles,
    dispatching: duties.includes('dispatcher'),
    ...redisOf(nodes ?? []),
  };
}

/** Without addresses and reasons, which contain addresses. */
function redisOf(nodes: RedisNode[]): Pick<QueueFacts, 'redis' | 'redisNodes'> {
  const redis = nodes.find(({ facts }) => facts)?.facts;
  const all = nodes.map(({ role, facts, reason }) => ({
    role,
    answers: reason === undefined,
    ...(facts ? { facts } : {}),
  }));
  return { ...(redis ? { redis } : {}), ...(nodes.length > 1 ? { redisNodes: all } : {}) };
}

/** The value, or undefined if the store fails or takes too long, as the other facts are useful without it. */
function ifItAnswers<T>(read: Promise<T>): Promise<T | undefined> {
  return withTimeout(read, PATIENCE_MS, 'the queue').catch(() => undefined);
}

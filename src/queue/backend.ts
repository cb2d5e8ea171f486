/** Where BullMQ keeps its jobs: Redis when REDIS_URL is set, else its PostgreSQL backend. Only this file chooses. */
import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type JobsOptions,
} from 'bullmq';
import { Redis } from 'ioredis';
import type pg from 'pg';
import { openPool } from '../db/pool.ts';
import { batchCompletions } from './batching/postgres-pool.ts';
import { batchCalls } from './batching/redis-connection.ts';

export interface Backend {
  kind: 'redis' | 'postgres';
  /** Creates BullMQ's backend from a connection of `producer` or `worker`. */
  factory: BackendFactory<IQueueBackend, unknown>;
  producer(): unknown;
  worker(): unknown;
  /** Closes a connection that this backend opened. Idempotent. */
  disconnect(connection: unknown): Promise<void>;
  /** Options that are added to each job. */
  jobOptions: JobsOptions;
}

export interface BackendSettings {
  REDIS_URL?: string | undefined;
  DATABASE_URL: string;
  DATABASE_TIMEOUT_MS?: number | undefined;
  /** `off`: each call of BullMQ is sent separately and unchanged. */
  QUEUE_BATCHING?: 'on' | 'off' | undefined;
  /** Called with the reason when calls are not batched. */
  onWarning?: ((reason: string) => void) | undefined;
}

type Batching = { warn(reason: string): void } | false;

export function chooseBackend(settings: BackendSettings): Backend {
  const batching = settings.QUEUE_BATCHING !== 'off' && { warn: once(settings.onWarning) };
  return settings.REDIS_URL ? redisBackend(settings.REDIS_URL, batching) : postgresBackend(settings, batching);
}

/** Reports the same reason only once, however many connections run into it. */
function once(tell: (reason: string) => void = () => {}): (reason: string) => void {
  const told = new Set<string>();
  return (reason) => {
    if (told.has(reason)) return;
    told.add(reason);
    tell(reason);
  };
}

/**
 * A connection to Redis is replaced when it waits this long for an answer and receives nothing. The limit also covers
 * BullMQ's blocking command, which waits up to 10 seconds; `commandTimeout` would fail it each time.
 */
const SILENCE_MS = 30_000;
const LIMITS = { connectTimeout: 10_000, keepAlive: 10_000, socketTimeout: SILENCE_MS };

/** When Redis is unavailable, producers fail fast and workers wait (BullMQ, "Going to production"). */
function redisBackend(url: string, batching: Batching): Backend {
  const connect = (maxRetriesPerRequest: number | null) => {
    const redis = new Redis(url, { maxRetriesPerRequest, reconnectOnError: isReplica, ...LIMITS });
    redis.on('error', () => {}); // BullMQ also listens, and its error events are logged
    return batching ? batchCalls(redis, batching.warn) : redis;
  };
  return {
    kind: 'redis',
    factory: createRedisBackend as Backend['factory'],
    producer: () => connect(2),
    worker: () => connect(null),
    disconnect: async (redis) => (redis as Redis).disconnect(),
    jobOptions: {},
  };
}

/** After a failover, reconnecting resolves the address again and reaches the new primary. */
function isReplica({ message }: Error): boolean {
  return message.includes('READONLY');
}

function postgresBackend(settings: BackendSettings, batching: Batching): Backend {
  const { DATABASE_URL: url, DATABASE_TIMEOUT_MS: statementMs } = settings;
  const connect = (max: number) => {
    // Safe only for the queue: a job that is lost in a crash is dispatched again from the database.
    const settings = { synchronous_commit: 'off', search_path: 'bullmq' };
    return openPool(url, { max, name: 'muster-queue', settings, ...(statementMs ? { statementMs } : {}) });
  };
  return {
    kind: 'postgres',
    factory: createPostgresBackend as Backend['factory'],
    producer: () => connect(3),
    worker: () => (batching ? batchCompletions(connect(9), batching.warn) : connect(9)),
    // With these options on the job, this backend deletes the row in the statement that completes it.
    jobOptions: { removeOnComplete: true, removeOnFail: true },
    async disconnect(connection) {
      const pool = connection as pg.Pool;
      if (!pool.ending) await pool.end();
    },
  };
}

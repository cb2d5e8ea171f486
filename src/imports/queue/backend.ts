/**
 * Where BullMQ keeps its jobs: Redis when REDIS_URL is set, else PostgreSQL. Only this file chooses.
 *
 * BullMQ's own backends are wrapped by factories, BullMQ's interface for other stores. The wrappers replace single
 * operations of the backend; all others are BullMQ's.
 */
import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type JobsOptions,
  QueueKeys,
} from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import { POOL_SIZES } from '../../platform/db/connections.ts';
import { openPool } from '../../platform/db/pool.ts';
import { parseRedisUrls } from '../../platform/redis-urls.ts';
import { withBatchedAdds } from './postgres-add.ts';
import { withDatabaseClock } from './postgres-clock.ts';
import { withBatchedFetches } from './postgres-fetch.ts';
import { connectRedis } from './redis.ts';
import { batchAdditions } from './redis-add.ts';
import { batchCompletions, type CompletionOptions } from './redis-finish.ts';
import { requireRights } from './redis-rights.ts';
import { openScripts, type Warn } from './redis-scripts.ts';
import { onlyShard, openProbe, type Shard, shardsOn } from './shards.ts';

/** `hashes`: users of imports whose plain passwords must be hashed before they are written. */
export type QueueName = 'imports' | 'hashes' | 'mails';

/** `warm-up`: jobs without work (workers/warm-up.ts). */
export type AnyQueue = QueueName | 'warm-up';

type Factory = BackendFactory<IQueueBackend, unknown>;

export interface Backend {
  kind: 'redis' | 'postgres';
  /** Creates BullMQ's backend from a connection of `producer` or `worker`. */
  factory: Factory;
  producer(server: number, queue: AnyQueue): unknown;
  worker(server: number, queue: AnyQueue): unknown;
  /**
   * Asks the store through a connection of `producer`. Redis has to write: one that is full, or a replica, answers reads.
   * @throws the store's error when it takes no jobs
   */
  check(connection: unknown, shard: Shard): Promise<unknown>;
  /** The shards that get new jobs; the first one has the queues that are not spread over shards. */
  shards: readonly Shard[];
  /** Further shards that have jobs of this queue, from processes with other settings. */
  otherShards(queue: string): Promise<Shard[]>;
  /** Closes what `otherShards` opened. */
  close(): void;
  /** Closes a connection that this backend opened. Idempotent. */
  disconnect(connection: unknown): Promise<void>;
  /** Options that are added to each job. */
  jobOptions: JobsOptions;
  /** The entries that BullMQ's event stream keeps. The database tracks the state of jobs, so nobody listens. */
  mostEvents: number;
  /** Jobs that a worker fetches at once: without batching, each fetch takes a connection. */
  mostFetches: number;
}

export interface BackendSettings {
  REDIS_URL?: string | undefined;
  QUEUE_PREFIX: string;
  /** Default: one for each URL in REDIS_URL. */
  QUEUE_SHARDS?: number | undefined;
  DATABASE_URL: string;
  /** The address of the database without a pooler: BullMQ keeps sessions. */
  DATABASE_DIRECT_URL?: string | undefined;
  DATABASE_TIMEOUT_MS?: number;
  /** `off`: each call of BullMQ is sent separately and unchanged. */
  QUEUE_BATCHING?: 'on' | 'off';
  /** Called with the reason when calls are not batched. */
  onWarning?: (reason: string) => void;
}

/** How long the key that a check writes stays, in milliseconds. */
const WRITTEN_MS = 10_000;

/** False: calls are not batched. */
type Batching = { warn: Warn } | false;

export function chooseBackend(settings: BackendSettings): Backend {
  const batching = settings.QUEUE_BATCHING !== 'off' && { warn: once(settings.onWarning) };
  return settings.REDIS_URL
    ? redisBackend(settings.REDIS_URL, settings, batching)
    : postgresBackend(settings, batching);
}

/** Reports the same reason only once, however many connections run into it. */
function once(tell: Warn = () => {}): Warn {
  const told = new Set<string>();
  return (reason) => {
    if (told.has(reason)) return;
    told.add(reason);
    tell(reason);
  };
}

/**
 * Returns a factory of the same Redis backends, which add and complete many jobs in one call.
 *
 * BullMQ adds and completes each job by a separate script call. Most of the cost is in packing, sending, parsing and
 * starting the call, and in reading data that is the same for all jobs.
 * Guarantee: where a batched call does not apply or fails, BullMQ's call is made for each job: one bad job fails alone.
 */
export function withBatchedScripts(factory: Factory, warn: Warn): Factory {
  return (name, options, ...rest) => {
    const backend = factory(name, options, ...rest);
    const { connection, prefix } = options as { connection: Redis | Cluster; prefix?: string };
    const keys = new QueueKeys(prefix).getKeys(name) as Record<string, string>;
    const deps = { findScript: openScripts(connection, warn), keys, warn };
    batchCompletions(backend, options as CompletionOptions, deps);
    batchAdditions(backend, deps);
    return backend;
  };
}

/** When Redis is unavailable, producers fail fast and workers wait (BullMQ, "Going to production"). */
function redisBackend(
  url: string,
  { QUEUE_PREFIX: prefix, QUEUE_SHARDS }: BackendSettings,
  batching: Batching,
): Backend {
  const plain = createRedisBackend as Factory;
  const servers = parseRedisUrls(url);
  const shards = shardsOn(servers, QUEUE_SHARDS ?? servers.length, prefix);
  const probe = openProbe(servers, prefix, shards);
  const connect = (server: number, maxRetriesPerRequest: number | null) => {
    return connectRedis(servers[server] as (typeof servers)[number], maxRetriesPerRequest);
  };
  return {
    kind: 'redis',
    factory: batching ? withBatchedScripts(plain, batching.warn) : plain,
    producer: (server) => connect(server, 2),
    worker: (server) => connect(server, null),
    async check(redis, shard) {
      await requireRights(redis as Redis | Cluster, prefix);
      await (redis as Redis).set(`${shard.prefix}:check`, '', 'PX', WRITTEN_MS);
    },
    disconnect: async (redis) => (redis as Redis | Cluster).disconnect(),
    shards,
    otherShards: probe.otherShards,
    close: probe.close,
    jobOptions: {},
    mostEvents: 0,
    mostFetches: 100,
  };
}

function postgresBackend(settings: BackendSettings, batching: Batching): Backend {
  const { DATABASE_URL, DATABASE_DIRECT_URL: url = DATABASE_URL, DATABASE_TIMEOUT_MS: statementMs } = settings;
  const connect = (max: number) => {
    // Safe only for the queue: a job that is lost in a crash is dispatched again from the database.
    const session = { synchronous_commit: 'off', search_path: 'bullmq' };
    return openPool(url, { max, name: 'muster-queue', settings: session, ...(statementMs ? { statementMs } : {}) });
  };
  const plain = withDatabaseClock(createPostgresBackend as Factory);
  const batched = ({ warn }: { warn: Warn }) => withBatchedFetches(withBatchedAdds(plain, warn), warn);
  return {
    kind: 'postgres',
    factory: batching ? batched(batching) : plain,
    producer: (_server, queue) => connect(queue === 'hashes' ? POOL_SIZES.hashProducer : POOL_SIZES.producer),
    worker: (_server, queue) => connect(queue === 'hashes' ? POOL_SIZES.hashConsumer : POOL_SIZES.consumer),
    // A full disk is a part of its own in `/readyz` (src/platform/http/health.ts).
    check: (pool) => (pool as pg.Pool).query('select from job limit 1'),
    shards: [onlyShard(settings.QUEUE_PREFIX)],
    otherShards: async () => [],
    close: () => {},
    // With these options on the job, this backend deletes the row in the statement that completes it.
    jobOptions: { removeOnComplete: true, removeOnFail: true },
    // This backend reads 0 as no limit.
    mostEvents: 1,
    mostFetches: batching ? 100 : 4,
    async disconnect(connection) {
      const pool = connection as pg.Pool;
      if (!pool.ending) await pool.end();
    },
  };
}

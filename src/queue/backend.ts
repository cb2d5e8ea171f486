/** Where BullMQ keeps its jobs: Redis when REDIS_URL is set, else its PostgreSQL backend. Only this file chooses. */
import {
  type BackendFactory,
  createPostgresBackend,
  createRedisBackend,
  type IQueueBackend,
  type JobsOptions,
} from 'bullmq';
import type { Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import { openPool } from '../db/pool.ts';
import { parseRedisUrls } from '../redis-urls.ts';
import { addsInCommon } from './batching/postgres-add.ts';
import { batchCalls } from './batching/postgres-pool.ts';
import { batchedRedisBackend } from './batching/redis-backend.ts';
import { connectRedis } from './redis-connect.ts';
import { openProbe } from './shard-probe.ts';
import { onlyShard, type Shard, shardsOn } from './shards.ts';
import { checkedByDatabaseClock } from './stalled-jobs.ts';

export interface Backend {
  kind: 'redis' | 'postgres';
  /** Creates BullMQ's backend from a connection of `producer` or `worker`. */
  factory: BackendFactory<IQueueBackend, unknown>;
  producer(server: number): unknown;
  worker(server: number): unknown;
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
  /** The same database without a pooler. BullMQ keeps sessions. */
  DATABASE_DIRECT_URL?: string | undefined;
  DATABASE_TIMEOUT_MS?: number | undefined;
  /** `off`: each call of BullMQ is sent separately and unchanged. */
  QUEUE_BATCHING?: 'on' | 'off' | undefined;
  /** Called with the reason when calls are not batched. */
  onWarning?: ((reason: string) => void) | undefined;
}

/** How long the key that a check writes stays, in milliseconds. */
const WRITTEN_MS = 10_000;

type Batching = { warn(reason: string): void } | false;

export function chooseBackend(settings: BackendSettings): Backend {
  const batching = settings.QUEUE_BATCHING !== 'off' && { warn: once(settings.onWarning) };
  return settings.REDIS_URL
    ? redisBackend(settings.REDIS_URL, settings, batching)
    : postgresBackend(settings, batching);
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

/** When Redis is unavailable, producers fail fast and workers wait (BullMQ, "Going to production"). */
function redisBackend(
  url: string,
  { QUEUE_PREFIX: prefix, QUEUE_SHARDS }: BackendSettings,
  batching: Batching,
): Backend {
  const servers = parseRedisUrls(url);
  const shards = shardsOn(servers, QUEUE_SHARDS ?? servers.length, prefix);
  const probe = openProbe(servers, prefix, shards);
  const connect = (server: number, maxRetriesPerRequest: number | null) => {
    return connectRedis(servers[server] as (typeof servers)[number], maxRetriesPerRequest);
  };
  return {
    kind: 'redis',
    factory: batching ? batchedRedisBackend(batching.warn) : (createRedisBackend as Backend['factory']),
    producer: (server) => connect(server, 2),
    worker: (server) => connect(server, null),
    check: (redis, shard) => (redis as Redis).set(`${shard.prefix}:check`, '', 'PX', WRITTEN_MS),
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
  const factory = checkedByDatabaseClock(createPostgresBackend as Backend['factory']);
  return {
    kind: 'postgres',
    factory: batching ? addsInCommon(factory, batching.warn) : factory,
    producer: () => connect(3),
    worker: () => (batching ? batchCalls(connect(9), batching.warn) : connect(9)),
    // A full disk is a part of its own in `/readyz` (src/http/disk.ts).
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

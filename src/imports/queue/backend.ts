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
import { parseRedisUrls } from '../../platform/config.ts';
import { POOL_SIZES } from '../../platform/db/connections.ts';
import { openPool } from '../../platform/db/pool.ts';
import { addsInCommon } from './postgres-add.ts';
import { batchCalls } from './postgres-claim.ts';
import { connectRedis } from './redis.ts';
import { batchAdditions } from './redis-add.ts';
import { batchCompletions, type CompletionOptions } from './redis-finish.ts';
import { loadedScripts, type Warn } from './redis-scripts.ts';
import { onlyShard, openProbe, type Shard, shardsOn } from './shards.ts';

/**
 * Finds stalled jobs on PostgreSQL by the clock of PostgreSQL.
 *
 * BullMQ 6.7 takes the time of each lock, and of its check for stalled jobs, from the clock of the worker. It also stores the
 * time of the last check, and allows the next one only after it. So one check of a worker whose clock is two hours ahead
 * prevents every check for two hours, and the jobs that this worker had when it died stay locked as long.
 *
 * Guarantee: no lock lasts longer than its duration plus MOST_AHEAD_MS after its worker died, whatever clock the workers have.
 * A lock is shortened, never ended: a worker that lives renews it in time.
 * On crash: another worker does the next check.
 */

/** Clocks that are this far apart need no repair. */
const MOST_AHEAD_MS = 60_000;

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint';

// Never waits for a row: BullMQ's own check locks many rows in an order of its own.
const REPAIR = `
with clock as (select ${NOW} as now),
shortened as (
  update job set locked_until_ms = (select now from clock) + $2::bigint
  where queue = $1 and id = any(array(
    select id from job
    where queue = $1 and state = 'active' and locked_until_ms > (select now from clock) + $2::bigint + $3::bigint
    for update skip locked))
)
update meta set value = (select now from clock)::text
where queue = $1 and field = 'stalled-check' and value::bigint > (select now from clock)`;

const CHECK = `select id from move_stalled_jobs_to_wait($1, $2, ${NOW}, $3) as t(id)`;

/** The options of a worker that this file needs; BullMQ has filled in its defaults. */
interface CheckOptions {
  connection: pg.Pool;
  lockDuration: number;
  stalledInterval: number;
  maxStalledCount: number;
}

/** Returns a factory of the same backends, which check for stalled jobs by the clock of PostgreSQL. */
export function checkedByDatabaseClock(
  factory: BackendFactory<IQueueBackend, unknown>,
): BackendFactory<IQueueBackend, unknown> {
  return (queue, options, ...rest) => {
    const { connection: pool, ...check } = options as unknown as CheckOptions;
    const backend = factory(queue, options, ...rest);
    backend.moveStalledJobsToWait = async () => {
      await pool.query(REPAIR, [queue, check.lockDuration, MOST_AHEAD_MS]);
      const { rows } = await pool.query<{ id: string }>(CHECK, [queue, check.maxStalledCount, check.stalledInterval]);
      return rows.map(({ id }) => id);
    };
    return backend;
  };
}

/**
 * BullMQ's Redis backend, with many completions or additions in one call.
 *
 * BullMQ adds and completes each job by a separate script call. Most of the cost is in packing, sending, parsing and
 * starting the call, and in reading data that is the same for all jobs. Here jobs that end at the same moment share one
 * call (redis-finish.ts), as do jobs that are added together (redis-add.ts). All other operations are BullMQ's.
 *
 * Guarantee: a single job is completed as BullMQ completes it. Where a shared call does not apply or fails, BullMQ's call
 * is made for each job, so one bad job fails alone.
 * On crash: each call was carried out or not, as without batching.
 */

/** Each connection is an ioredis client that BullMQ has not used yet; the caller closes it. */
export function batchedRedisBackend(warn: Warn): BackendFactory<IQueueBackend, unknown> {
  const create = createRedisBackend as BackendFactory<IQueueBackend, unknown>;
  return (name, options, ...rest) => {
    const scripts = loadedScripts(options.connection as Redis | Cluster, warn);
    const backend = create(name, options, ...rest);
    const { prefix } = options as { prefix?: string };
    const keys = new QueueKeys(prefix).getKeys(name) as Record<string, string>;
    batchCompletions(backend, options as CompletionOptions, { scripts, keys, warn });
    batchAdditions(backend, { scripts, keys, warn });
    return backend;
  };
}

/** Where BullMQ keeps its jobs: Redis when REDIS_URL is set, else its PostgreSQL backend. Only this file chooses. */

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
    producer: () => connect(POOL_SIZES.producer),
    worker() {
      const pool = connect(POOL_SIZES.consumer);
      return batching ? batchCalls(pool, batching.warn) : pool;
    },
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

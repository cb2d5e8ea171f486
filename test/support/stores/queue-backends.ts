/** The stores of queues, each with BullMQ's own backend and Muster's, for tests that compare the two. */
import type { JobsOptions, Queue } from 'bullmq';
import { type BackendFactory, createPostgresBackend, createRedisBackend, type IQueueBackend } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { withBatchedScripts } from '../../../src/imports/queue/backend.ts';
import { withRetries } from '../../../src/imports/queue/guard.ts';
import { withBatchedAdds } from '../../../src/imports/queue/postgres-add.ts';
import { withDatabaseClock } from '../../../src/imports/queue/postgres-clock.ts';
import { withBatchedFetches } from '../../../src/imports/queue/postgres-fetch.ts';
import { testDatabase } from './postgres.ts';
import { redisUrl } from './redis.ts';

type Factory = BackendFactory<IQueueBackend, unknown>;
export type Side = 'BullMQ' | 'Muster';
/** What Muster's backends do in batches. */
export type Batched = 'adds' | 'fetches' | 'completions';

export interface QueueStore {
  factories: Record<Side, Factory>;
  prefix: string;
  /** Options of jobs that a batch may add, and that are deleted when they end. */
  gone: JobsOptions;
  /** The name of an event that BullMQ does not write when jobs end at once, or ''. */
  unreliableEvent: string;
  /** Opens a connection for one queue or worker. */
  connect(): unknown;
  /** What was sent in batches since the last call. */
  batched(): Set<Batched>;
  /** The token of each active job's lock. */
  tokensOf(queue: Queue): Promise<Map<string, string>>;
  close(): Promise<void>;
}

const KINDS: Record<string, Batched> = {
  'add-jobs': 'adds',
  'claim-batch': 'fetches',
  'complete-batch': 'completions',
  'batched:addStandardJob': 'adds',
  'batched:moveToFinished': 'completions',
};

const guarded = (factory: Factory) =>
  withRetries(factory, { working() {}, failing() {} }, new AbortController().signal);

/** Notes the names of statements and scripts. */
function noteBatched() {
  const seen = new Set<Batched>();
  return {
    note(name: string | undefined) {
      const kind = KINDS[name ?? ''];
      if (kind) seen.add(kind);
    },
    batched() {
      const since = new Set(seen);
      seen.clear();
      return since;
    },
  };
}

/** @param warn is called when Muster does not batch */
export async function openPostgresQueues(warn: (reason: string) => void): Promise<QueueStore> {
  const database = await testDatabase({ name: 'queue-backends' });
  const pools: pg.Pool[] = [];
  const { note, batched } = noteBatched();
  const plain = createPostgresBackend as Factory;
  const ours = withBatchedFetches(withBatchedAdds(withDatabaseClock(plain), warn), warn);
  return {
    factories: { BullMQ: plain, Muster: guarded(ours) },
    prefix: 'unused',
    gone: { removeOnComplete: true, removeOnFail: true },
    unreliableEvent: 'drained',
    batched,
    connect() {
      const pool = new pg.Pool({ connectionString: database.url, max: 9, options: '-c search_path=bullmq' });
      const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
      pool.query = ((statement: { name?: string }, ...rest: unknown[]) => {
        note(statement.name);
        return query(statement, ...rest);
      }) as typeof pool.query;
      pools.push(pool);
      return pool;
    },
    async tokensOf({ name }) {
      const text = `select id, lock_token from bullmq.job where queue = $1 and state = 'active'`;
      const { rows } = await database.pool.query<{ id: string; lock_token: string }>(text, [name]);
      return new Map(rows.map((row) => [row.id, row.lock_token]));
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.end()));
      await database.drop();
    },
  };
}

/** @param warn is called when Muster does not batch */
export async function openRedisQueues(warn: (reason: string) => void): Promise<QueueStore> {
  const url = redisUrl() as string;
  const redis = new Redis(url);
  const connections = [redis];
  const { note, batched } = noteBatched();
  const prefix = `queue-backends-${process.pid}`;
  const plain = createRedisBackend as Factory;
  return {
    factories: { BullMQ: plain, Muster: guarded(withBatchedScripts(plain, warn)) },
    prefix,
    gone: {},
    unreliableEvent: '',
    batched,
    connect() {
      const connection = new Redis(url, { maxRetriesPerRequest: null });
      connections.push(connection);
      const define = connection.defineCommand.bind(connection);
      const commands = connection as unknown as Record<string, (...args: unknown[]) => unknown>;
      connection.defineCommand = (name, script) => {
        define(name, script);
        if (!KINDS[name]) return; // a pipeline takes BullMQ's commands as they are
        const run = commands[name];
        commands[name] = (...args) => {
          note(name);
          return run?.apply(connection, args);
        };
      };
      return connection;
    },
    async tokensOf(queue) {
      const active = await redis.lrange(queue.toKey('active'), 0, -1);
      const locks = await Promise.all(active.map((id) => redis.get(queue.toKey(`${id}:lock`))));
      return new Map(active.map((id, i) => [id, locks[i] ?? '']));
    },
    async close() {
      const keys = await redis.keys(`${prefix}:*`);
      if (keys.length > 0) await redis.del(...keys);
      for (const connection of connections) connection.disconnect();
    },
  };
}

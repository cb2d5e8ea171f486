/** Connections to a Redis or Valkey server, to a Cluster, or to the current master behind Sentinels. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisServer } from '../redis-urls.ts';

/**
 * A connection is replaced when it waits this long for an answer and receives nothing. The limit also covers BullMQ's
 * blocking command, which waits up to 10 seconds; `commandTimeout` would fail it each time.
 */
const SILENCE_MS = 30_000;
const LIMITS = { connectTimeout: 10_000, keepAlive: 10_000, socketTimeout: SILENCE_MS };
/** A Sentinel that does not answer in this time is passed over for the next one. */
const SENTINEL_MS = 3000;
/** How long a node of a Cluster may take to say which node has which slots. */
const SLOTS_MS = 5000;

/** @param maxRetriesPerRequest null: a command waits until the server is back */
export function connectRedis(server: RedisServer, maxRetriesPerRequest: number | null): Redis | Cluster {
  const redis = connect(server, { maxRetriesPerRequest, reconnectOnError: isReplica, ...LIMITS });
  redis.on('error', () => {}); // BullMQ also listens, and its error events are logged
  return redis;
}

function connect(server: RedisServer, options: RedisOptions): Redis | Cluster {
  if (server.kind === 'single') return new Redis(server.url, options);
  if (server.kind === 'sentinel') return new Redis(sentinelOptions(server, options));
  return new Cluster(server.nodes, {
    redisOptions: { ...options, ...server.login, ...(server.tls ? { tls: {} } : {}) },
    slotsRefreshTimeout: SLOTS_MS,
    // The certificates of a Cluster are for the names of its nodes, not for their addresses.
    ...(server.tls ? { dnsLookup: (address, found) => found(null, address) } : {}),
  });
}

/** Options of a connection to the master that the Sentinels name. */
export function sentinelOptions(
  { nodes, master, db, login, sentinelLogin, tls }: Extract<RedisServer, { kind: 'sentinel' }>,
  options: RedisOptions,
): RedisOptions {
  return {
    ...options,
    ...login,
    db,
    sentinels: nodes,
    name: master,
    ...(sentinelLogin.username ? { sentinelUsername: sentinelLogin.username } : {}),
    ...(sentinelLogin.password ? { sentinelPassword: sentinelLogin.password } : {}),
    sentinelCommandTimeout: SENTINEL_MS,
    ...(tls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

/** After a failover, reconnecting resolves the address again and reaches the new primary. */
function isReplica({ message }: Error): boolean {
  return message.includes('READONLY');
}

/**
 * Redis and Valkey servers: the connections of the queue, and the settings that matter to a queue, in which jobs must not be
 * evicted and should not be lost. A server may be a single one, a Cluster, or behind Sentinels.
 *
 * Guarantee: what reads settings writes nothing, uses a connection of its own, and ends within about three seconds.
 */
import { type RedisOptions as AllRedisOptions, Cluster, Redis } from 'ioredis';
import { parseRedisUrls, type RedisAddress, type RedisServer } from '../../platform/redis-urls.ts';

/**
 * A connection is replaced when it waits this long for an answer and receives nothing. The limit also covers BullMQ's
 * blocking command, which waits up to 10 seconds; `commandTimeout` would fail it each time.
 */
const SILENCE_MS = 30_000;
const LIMITS = { connectTimeout: 10_000, keepAlive: 10_000, socketTimeout: SILENCE_MS };
/** When a Sentinel has not answered for so long, the next one is asked. */
const SENTINEL_MS = 3000;
/** How long a node of a Cluster may take to say which node has which slots. */
const SLOTS_MS = 5000;

/** Without `replyMapping`, which ioredis declares in a way that its own constructors reject. */
type RedisOptions = Omit<AllRedisOptions, 'replyMapping'>;

/**
 * @param maxRetriesPerRequest null: a command waits until the server is back
 * @param readyCheck whether to wait until the server has loaded its data, which needs the right to call INFO
 */
export function connectRedis(
  server: RedisServer,
  maxRetriesPerRequest: number | null,
  { readyCheck = true }: { readyCheck?: boolean } = {},
): Redis | Cluster {
  const enableReadyCheck = readyCheck;
  const redis = connect(server, { maxRetriesPerRequest, reconnectOnError: isReplica, enableReadyCheck, ...LIMITS });
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

export interface RedisFacts {
  /** `Redis 7.2.4`, `Valkey 8.0.1` */
  version: string;
  /** Whether changes are logged to disk (`appendonly`). */
  appendOnly: boolean;
  /** What happens when its memory is full: `noeviction` rejects writes, every other policy evicts keys. */
  maxmemoryPolicy: string;
  /** In bytes; 0: no limit. */
  maxmemory: number;
  usedMemory: number;
  /** Whether the last write to its files failed; it then refuses all writes, as its settings are by default. */
  failsToSave: boolean;
}

const TIMEOUT_MS = 3000;
/** Shorter for each of several servers, which are first found and then asked. */
export const NODE_TIMEOUT_MS = 1500;
const ONCE: RedisOptions = {
  lazyConnect: true,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
  enableReadyCheck: false,
};

/**
 * Connects once, reads, and disconnects.
 * @throws Error when the server does not answer or rejects the connection; its `code` is the one of the socket error
 */
export async function askRedis<T>(
  server: string | RedisOptions,
  read: (redis: Redis) => Promise<T>,
  timeoutMs = TIMEOUT_MS,
): Promise<T> {
  const options = { ...ONCE, connectTimeout: timeoutMs, commandTimeout: timeoutMs };
  const redis = typeof server === 'string' ? new Redis(server, options) : new Redis({ ...server, ...options });
  let fault: Error | undefined;
  // The cause of the connection failure; the waiting command fails only with "Connection is closed".
  redis.on('error', (error: Error) => {
    fault ??= error;
  });
  try {
    await redis.connect();
    return await read(redis);
  } catch (error) {
    throw fault ?? error;
  } finally {
    redis.disconnect();
  }
}

/** The text that the command INFO returns, as facts. */
export function factsOf(info: string): RedisFacts {
  const fields = new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string | undefined]));
  const valkey = fields.get('valkey_version');
  return {
    version: valkey ? `Valkey ${valkey}` : `Redis ${fields.get('redis_version') ?? 'of an unknown version'}`,
    appendOnly: fields.get('aof_enabled') === '1',
    maxmemoryPolicy: fields.get('maxmemory_policy') ?? 'unknown',
    maxmemory: Number(fields.get('maxmemory') ?? 0),
    usedMemory: Number(fields.get('used_memory') ?? 0),
    failsToSave: ['rdb_last_bgsave_status', 'aof_last_write_status'].some((name) => fields.get(name) === 'err'),
  };
}

type Role = 'master' | 'replica' | 'sentinel';

export interface RedisNode {
  /** A dead node of a Cluster that has no slots counts as a replica. */
  role: Role;
  /** Host and port, or the URL's host or path; without a login. */
  address: string;
  /** Only for a server that holds data and answers. */
  facts?: RedisFacts;
  /** Why it does not answer; may contain its address. */
  reason?: string;
}

interface Found extends RedisAddress {
  role: Role;
}

/** The servers behind REDIS_URL, one by one: the servers it names, and those that a Cluster or Sentinels name. Never throws. */
export async function readRedisNodes(text: string): Promise<RedisNode[]> {
  return (await Promise.all(parseRedisUrls(text).map(nodesOf))).flat();
}

async function nodesOf(server: RedisServer): Promise<RedisNode[]> {
  if (server.kind === 'single') return [await single(server.url)];
  const find = server.kind === 'cluster' ? inCluster : besideSentinel;
  const sentinels =
    server.kind === 'sentinel' ? server.nodes.map((node): Found => ({ ...node, role: 'sentinel' })) : [];
  const found = await Promise.any(server.nodes.map((node) => askNode(server, node, find(server)))).catch(
    (error: AggregateError) => error.errors[0] as Error,
  );
  if (found instanceof Error) {
    const role = server.kind === 'cluster' ? 'master' : 'sentinel';
    return server.nodes.map((node) => ({ role, address: nameOf(node), reason: reasonOf(found) }));
  }
  return Promise.all([...found, ...sentinels].map((node) => readNode(server, node)));
}

async function single(url: string): Promise<RedisNode> {
  const address = url.startsWith('/') ? url : (URL.parse(url)?.host ?? '');
  try {
    return { role: 'master', address, facts: factsOf(await askRedis(url, (redis) => redis.info())) };
  } catch (error) {
    return { role: 'master', address, reason: reasonOf(error) };
  }
}

type Group = Exclude<RedisServer, { kind: 'single' }>;

async function readNode(server: Group, { role, ...node }: Found): Promise<RedisNode> {
  const address = nameOf(node);
  try {
    if (role === 'sentinel') await askNode(server, node, (redis) => redis.ping());
    else return { role, address, facts: factsOf(await askNode(server, node, (redis) => redis.info(), server.login)) };
    return { role, address };
  } catch (error) {
    return { role, address, reason: reasonOf(error) };
  }
}

/** @param login default: the login of the nodes that REDIS_URL names */
function askNode<T>(
  server: Group,
  { host, port }: RedisAddress,
  read: (redis: Redis) => Promise<T>,
  login: RedisOptions = server.kind === 'sentinel' ? server.sentinelLogin : server.login,
): Promise<T> {
  return askRedis({ host, port, ...login, ...(server.tls ? { tls: {} } : {}) }, read, NODE_TIMEOUT_MS);
}

/** Redis, "CLUSTER NODES": id, address, flags, master, ping, pong, epoch, link, slots. */
const inCluster = () => async (redis: Redis) => {
  const lines = String(await redis.cluster('NODES'))
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
  return lines.flatMap(([, at = '', flags = '', , , , , , ...slots]): Found[] => {
    const [, host = '', port] = /^(.*):(\d+)@/.exec(at) ?? [];
    if (!port || /noaddr|handshake/.test(flags)) return [];
    return [{ host, port: Number(port), role: /master/.test(flags) && slots.length > 0 ? 'master' : 'replica' }];
  });
};

const besideSentinel = (server: RedisServer) => async (redis: Redis) => {
  const { master } = server as Extract<RedisServer, { kind: 'sentinel' }>;
  const replicas = (await redis.call('SENTINEL', 'REPLICAS', master)) as string[][];
  const ofMaster = (await redis.call('SENTINEL', 'MASTER', master)) as string[];
  return [foundOf(ofMaster, 'master'), ...replicas.map((one) => foundOf(one, 'replica'))];
};

/** @param pairs names and values in turn */
function foundOf(pairs: string[], role: Role): Found {
  const value = (name: string) => pairs[pairs.indexOf(name) + 1] as string;
  return { host: value('ip'), port: Number(value('port')), role };
}

function nameOf({ host, port }: RedisAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || 'unknown';
}

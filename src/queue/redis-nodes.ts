/**
 * The servers behind REDIS_URL, one by one: those it names, and those that a Cluster or Sentinels name.
 *
 * Guarantee: writes nothing; a server that does not answer is reported as such, within about three seconds.
 */
import type { Redis, RedisOptions } from 'ioredis';
import { parseRedisUrls, type RedisAddress, type RedisServer } from '../redis-urls.ts';
import { askRedis, factsOf, NODE_TIMEOUT_MS, type RedisFacts } from './redis-facts.ts';

type Role = 'master' | 'replica' | 'sentinel';

export interface RedisNode {
  /** A dead node of a Cluster that has no slots counts as a replica. */
  role: Role;
  /** Host and port, or the URL's host or path; without a login. */
  address: string;
  /** Of a server that holds data and answers. */
  facts?: RedisFacts;
  /** Why it does not answer; may contain its address. */
  reason?: string;
}

interface Found extends RedisAddress {
  role: Role;
}

/** Never throws. */
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

/** @param login default: that of the nodes that REDIS_URL names */
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

/**
 * Groups of Redis servers: a Cluster, and a master with a replica behind Sentinels.
 *
 * On crash: each server ends with this process, as redis.ts says; its folder in /tmp remains.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { freePort } from '../free-port.ts';
import { waitFor } from '../wait.ts';
import { redisProgram, startRedis, startSentinel, type TestRedis } from './redis.ts';

const run = promisify(execFile);
/** After this time without an answer a server counts as dead: longer than a busy machine stops a living one. */
const DEAD_MS = '6000';

export interface RedisGroup {
  /** For REDIS_URL. */
  url: string;
  servers: TestRedis[];
  /** Runs a command on the server at this port and closes the connection. */
  ask(port: number, ...command: [string, ...string[]]): Promise<unknown>;
  stop(): Promise<void>;
}

export const portOf = ({ url }: TestRedis) => Number(new URL(url).port);

/** Three masters with equal parts of the slots and, if wanted, a replica each. */
export async function startCluster({ replicas = 0 }: { replicas?: 0 | 1 } = {}): Promise<RedisGroup> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-cluster-'));
  const servers = await Promise.all(
    Array.from({ length: 3 + 3 * replicas }, async (_, n) => {
      const options = { 'cluster-enabled': 'yes', 'cluster-config-file': `${n}.conf`, dir };
      const bus = { 'cluster-port': `${await freePort()}`, 'cluster-node-timeout': DEAD_MS };
      return startRedis(redisProgram(), optionsOf({ ...options, ...bus }));
    }),
  );
  const hosts = servers.map((server) => new URL(server.url).host);
  const create = ['--cluster', 'create', ...hosts, '--cluster-replicas', `${replicas}`, '--cluster-yes'];
  await run(
    join(dirname(redisProgram()), redisProgram().endsWith('valkey-server') ? 'valkey-cli' : 'redis-cli'),
    create,
  );
  for (const server of servers) {
    await waitFor(async () => /cluster_state:ok/.test(String(await ask(portOf(server), 'CLUSTER', 'INFO'))), {
      what: `the Cluster to be ready on ${server.url}`,
      timeoutMs: 30_000,
    });
  }
  return group(`redis+cluster://${hosts.join(',')}`, servers, dir);
}

/** A master, a replica of it, and three Sentinels, two of which decide. */
export async function startSentinels(): Promise<RedisGroup> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-sentinel-'));
  const master = await startRedis(redisProgram());
  const port = `${portOf(master)}`;
  const replica = await startRedis(redisProgram(), optionsOf({ replicaof: `127.0.0.1 ${port}`, dir }));
  await waitFor(async () => /master_link_status:up/.test(String(await ask(portOf(replica), 'INFO', 'replication'))), {
    what: 'the replica to follow',
  });
  const sentinels = await Promise.all([1, 2, 3].map((n) => sentinelOf(port, join(dir, `sentinel-${n}.conf`))));
  for (const sentinel of sentinels) {
    const knows = async () => {
      const facts = String(await ask(portOf(sentinel), 'SENTINEL', 'MASTER', 'mymaster'));
      return /num-slaves,1,num-other-sentinels,2/.test(facts);
    };
    await waitFor(knows, { what: 'the Sentinels to find each other', timeoutMs: 30_000 });
  }
  const hosts = sentinels.map((server) => new URL(server.url).host);
  return group(`redis+sentinel://${hosts.join(',')}/mymaster`, [master, replica, ...sentinels], dir);
}

async function sentinelOf(port: string, file: string): Promise<TestRedis> {
  const lines = [
    `sentinel monitor mymaster 127.0.0.1 ${port} 2`,
    `sentinel down-after-milliseconds mymaster ${DEAD_MS}`,
    'sentinel failover-timeout mymaster 5000',
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  return startSentinel(redisProgram(), file);
}

/** Moves a slot with its keys to another master, key by key, as `redis-cli --cluster reshard` does. */
export async function moveSlot(slot: number, from: TestRedis, to: TestRedis): Promise<void> {
  const id = async (server: TestRedis) => String(await ask(portOf(server), 'CLUSTER', 'MYID'));
  const [source, target] = await Promise.all([id(from), id(to)]);
  const set = (server: TestRedis, ...words: string[]) => ask(portOf(server), 'CLUSTER', 'SETSLOT', `${slot}`, ...words);
  await set(to, 'IMPORTING', source);
  await set(from, 'MIGRATING', target);
  for (;;) {
    const keys = (await ask(portOf(from), 'CLUSTER', 'GETKEYSINSLOT', `${slot}`, '100')) as string[];
    if (keys.length === 0) break;
    await ask(portOf(from), 'MIGRATE', '127.0.0.1', `${portOf(to)}`, '', '0', '5000', 'KEYS', ...keys);
  }
  for (const server of [to, from]) await set(server, 'NODE', target);
}

function group(url: string, servers: TestRedis[], dir: string): RedisGroup {
  return {
    url,
    servers,
    ask,
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function ask(port: number, ...[name, ...args]: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => null });
  redis.on('error', () => {}); // the command fails too
  try {
    return await redis.call(name, ...args);
  } finally {
    redis.disconnect();
  }
}

function optionsOf(options: Record<string, string>): string[] {
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')]);
}

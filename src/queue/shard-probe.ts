/**
 * Finds shards with jobs that the settings of this process do not name: another process has, or had, more shards or
 * other servers. Redis itself is asked, so that there is no list of shards that could be lost or wrong.
 *
 * Guarantee: a server that does not answer within TIMEOUT_MS has no such shards for now. On crash: nothing is left.
 */
import type { Cluster, Redis } from 'ioredis';
import type { RedisServer } from '../redis-urls.ts';
import { withTimeout } from '../timeout.ts';
import { connectRedis } from './redis-connect.ts';
import { possibleShards, type Shard } from './shards.ts';

const TIMEOUT_MS = 2000;

export interface Probe {
  otherShards(queue: string): Promise<Shard[]>;
  close(): void;
}

/** Connects at the first call. @param known shards that are left out */
export function openProbe(servers: readonly RedisServer[], prefix: string, known: readonly Shard[]): Probe {
  let connections: (Redis | Cluster)[] | undefined;
  const isKnown = (shard: Shard) => known.some((one) => one.server === shard.server && one.number === shard.number);

  async function onServer(redis: Redis | Cluster, server: number, queue: string): Promise<Shard[]> {
    const others = possibleShards(servers, server, prefix).filter((shard) => !isKnown(shard));
    const found = await Promise.all(others.map((shard) => redis.exists(...jobLists(shard, queue))));
    return others.filter((_, i) => found[i] !== 0);
  }

  return {
    async otherShards(queue) {
      connections ??= servers.map((server) => connectRedis(server, 1));
      const asked = connections.map((redis, server) =>
        withTimeout(onServer(redis, server, queue), TIMEOUT_MS, 'the queue').catch(() => []),
      );
      return (await Promise.all(asked)).flat();
    },
    close() {
      for (const redis of connections ?? []) redis.disconnect();
    },
  };
}

/** BullMQ's lists of the waiting and the running jobs. */
function jobLists({ prefix }: Shard, queue: string): [string, string] {
  return [`${prefix}:${queue}:wait`, `${prefix}:${queue}:active`];
}

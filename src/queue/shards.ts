/**
 * The shards of a queue: BullMQ queues with keys of their own, each on one server, or in one slot of a Redis Cluster.
 *
 * Guarantee: the keys of a shard depend only on QUEUE_PREFIX, its number and whether its server is a Cluster, never on
 * how many shards there are, so that processes with different settings find the same jobs. Shards 0 to K-1 are on K
 * different masters of a Cluster of 2, 3, 4, 6 or 8 masters that have equal parts of the slots.
 */
import { MOST_SHARDS, type RedisServer } from '../redis-urls.ts';

export interface Shard {
  number: number;
  /** Position of its server in REDIS_URL. */
  server: number;
  /** BullMQ's prefix of all its keys. */
  prefix: string;
}

/** The only shard of a queue that is not on Redis. */
export function onlyShard(prefix: string): Shard {
  return { number: 0, server: 0, prefix };
}

/** Shards 0 to `count` - 1, on the servers in turn. */
export function shardsOn(servers: readonly RedisServer[], count: number, prefix: string): Shard[] {
  return Array.from({ length: count }, (_, number) => shardAt(servers, number % servers.length, number, prefix));
}

/** All shards that a process with any settings may have on this server. */
export function possibleShards(servers: readonly RedisServer[], server: number, prefix: string): Shard[] {
  return Array.from({ length: MOST_SHARDS }, (_, number) => shardAt(servers, server, number, prefix));
}

function shardAt(servers: readonly RedisServer[], server: number, number: number, prefix: string): Shard {
  // Without a Cluster, the first shard has the keys of a queue without shards.
  const isPlain = number === 0 && servers[server]?.kind !== 'cluster';
  return { number, server, prefix: isPlain ? prefix : `{${tagOf(prefix, number)}}` };
}

const SLOTS = 16_384;
/** Where each shard is among the slots: the first K of these are in different parts if there are K equal parts. */
const PLACES = [0.06, 0.94, 0.45, 0.55, 0.3, 0.8, 0.2, 0.69];
const TOLERANCE = 1 / 64;

const tags = new Map<string, string>();

/** The hash tag of a shard, whose slot is near the shard's place. */
function tagOf(prefix: string, number: number): string {
  const name = `${prefix}:${number}`;
  const place = PLACES[number % PLACES.length] as number;
  for (let tag = tags.get(name) ?? name, tries = 1; ; tag = `${name}.${tries++}`) {
    if (Math.abs(slotOf(tag) / SLOTS - place) > TOLERANCE) continue;
    tags.set(name, tag);
    return tag;
  }
}

/** The slot of a hash tag in a Redis Cluster: CRC16 (XMODEM), as the Redis Cluster specification defines it. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % SLOTS;
}

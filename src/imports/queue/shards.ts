/**
 * The shards of a queue: BullMQ queues with keys of their own, each on one server, or in one slot of a Redis Cluster; what
 * adds jobs to them, and what works on them.
 *
 * Guarantee: the keys of a shard depend only on QUEUE_PREFIX, its number and whether its server is a Cluster, never on
 * how many shards there are, so that processes with different settings find the same jobs. Shards 0 to K-1 are on K
 * different masters of a Cluster of 2, 3, 4, 6 or 8 masters that have equal parts of the slots. A job is added as long as
 * one shard accepts it, and may then be on two shards, if the first accepted it but did not answer in time: jobs must be
 * harmless when repeated.
 * On crash: BullMQ gives the jobs to another worker; the next process finds failing shards by itself.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Redis } from 'ioredis';
import { MOST_SHARDS } from '../../platform/config.ts';
import type { RedisServer } from '../../platform/redis-urls.ts';
import { withTimeout } from '../../platform/timeouts.ts';
import { isStoreFault } from './guard.ts';
import type { Producer, RunningWorker } from './keep-alive.ts';
import { connectRedis } from './redis.ts';

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

/** How long a server may take to say which shards have jobs; then it has none for now. */
const PROBE_MS = 2000;

/**
 * Finds shards with jobs that the settings of this process do not name: another process has, or had, more shards or
 * other servers. Redis itself is asked, so that there is no list of shards that could be lost or wrong.
 */
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
        withTimeout(onServer(redis, server, queue), PROBE_MS, 'the queue').catch(() => []),
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

/** Longest wait for one of several shards, in milliseconds; the others can do the same work. */
const SHARD_MS = 3000;
/** Shorter, as numbers for people and metrics are read from all shards at once. */
const READ_MS = 1500;
const RETRY_MS = 2000;

export interface ShardProducers<T> {
  /**
   * Works on the shard of this number, or on the next one that works.
   * @throws the error of the last shard when all of them fail
   */
  use<R>(number: number, work: (part: T) => Promise<R>): Promise<R>;
  /** Reads from all shards; those that fail are left out. @throws the error of a shard when all of them fail */
  read<R>(work: (part: T) => Promise<R>): Promise<R[]>;
  close(): Promise<void>;
}

/**
 * The producers of a queue that is spread over shards. A shard whose store fails is left out until it answers again, so that
 * a call waits for a silent shard at most once.
 * @param answers whether a shard works again
 */
export function shardProducers<T>(
  producers: readonly Producer<T>[],
  answers: (part: T) => Promise<unknown>,
): ShardProducers<T> {
  const isOne = producers.length === 1;
  const failing = leaveOutFailing(producers.length, (number) => use(number, answers, SHARD_MS));

  function use<R>(number: number, work: (part: T) => Promise<R>, ms: number): Promise<R> {
    const used = (producers[number] as Producer<T>).use(work);
    return isOne ? used : withTimeout(used, ms, 'the queue');
  }

  return {
    async use(number, work) {
      let fault: unknown;
      for (const one of failing.shardsFrom(number)) {
        try {
          return await use(one, work, SHARD_MS);
        } catch (error) {
          if (!isStoreFault(error)) throw error;
          if (!isOne) failing.add(one);
          fault = error;
        }
      }
      throw fault;
    },
    async read(work) {
      const results = await Promise.allSettled(failing.shardsFrom(0).map((one) => use(one, work, READ_MS)));
      const read = results.filter((result) => result.status === 'fulfilled').map(({ value }) => value);
      if (read.length === 0) throw (results[0] as PromiseRejectedResult).reason;
      return read;
    },
    async close() {
      failing.close();
      await Promise.all(producers.map((producer) => producer.close()));
    },
  };
}

/** The shards that fail, of `count` shards; each is asked again until it answers. */
function leaveOutFailing(count: number, ask: (number: number) => Promise<unknown>) {
  const failing = new Set<number>();
  const closing = new AbortController();

  async function untilItAnswers(number: number): Promise<void> {
    while (failing.has(number)) {
      await sleep(RETRY_MS, undefined, { ref: false, signal: closing.signal });
      await ask(number).then(
        () => failing.delete(number),
        () => {}, // asked again
      );
    }
  }

  return {
    add(number: number): void {
      if (failing.has(number)) return;
      failing.add(number);
      untilItAnswers(number).catch(() => {}); // closed
    },
    /** The shards to try, in order, from this one on: those that work, or all if none does. */
    shardsFrom(number: number): number[] {
      const all = Array.from({ length: count }, (_, i) => (number + i) % count);
      const working = all.filter((one) => !failing.has(one));
      return working.length > 0 ? working : all;
    },
    close: () => closing.abort(),
  };
}

const LOOK_MS = 3000;
/** Polls in a row that find no jobs, after which a worker leaves a further shard. */
const PATIENCE = 3;

export interface ShardWork {
  /** Always worked on. */
  shards: readonly Shard[];
  /** Further shards with jobs. Never throws. */
  others(): Promise<Shard[]>;
  /** Jobs in progress at once on all shards. */
  concurrency: number;
  start(shard: Shard, concurrency: number): RunningWorker;
}

/**
 * One worker for each shard of a queue, and one for each further shard that still has jobs, of processes that have, or
 * had, more shards or other servers. A further shard is found within some seconds.
 */
export function workOnShards({ shards, others, concurrency, start }: ShardWork): RunningWorker {
  const stopping = new AbortController();
  const { signal } = stopping;
  const crew = openCrew(shards, concurrency, start);

  async function keepLooking(): Promise<void> {
    while (!signal.aborted) {
      const found = await others();
      if (signal.aborted) return;
      await crew.follow(found);
      await sleep(LOOK_MS, undefined, { signal }).catch(() => {}); // cut short by the stop
    }
  }
  const looking = keepLooking();

  return {
    limit: crew.limit,
    inProgress: () => crew.workers().reduce((sum, worker) => sum + worker.inProgress(), 0),
    async stop() {
      stopping.abort();
      await Promise.all([looking, ...crew.workers().map((worker) => worker.stop())]);
    },
  };
}

interface Further {
  worker: RunningWorker;
  /** Polls in a row that found no jobs. */
  empty: number;
}

/** The workers share the jobs in progress equally, at least one each, so that a silent shard holds up no other. */
function openCrew(shards: readonly Shard[], concurrency: number, start: ShardWork['start']) {
  let most = concurrency;
  const further = new Map<string, Further>();
  const each = () => Math.max(1, Math.floor(most / (shards.length + further.size)));
  const own = shards.map((shard) => start(shard, each()));
  const workers = () => [...own, ...[...further.values()].map(({ worker }) => worker)];
  const divide = () => {
    for (const worker of workers()) worker.limit(each());
  };

  return {
    workers,
    limit(jobs: number): void {
      most = jobs;
      divide();
    },
    /** Starts workers for the further shards that were found, and stops those whose shard has had no jobs for long. */
    async follow(shardsFound: Shard[]): Promise<void> {
      const found = new Map(shardsFound.map((shard) => [`${shard.server} ${shard.prefix}`, shard]));
      const before = further.size;
      const left = [...further].filter(([key, one]) => {
        one.empty = found.has(key) ? 0 : one.empty + 1;
        return one.empty >= PATIENCE;
      });
      for (const [key] of left) further.delete(key);
      for (const [key, shard] of found) {
        if (!further.has(key)) further.set(key, { worker: start(shard, each()), empty: 0 });
      }
      if (further.size !== before || left.length > 0) divide();
      await Promise.all(left.map(([, { worker }]) => worker.stop()));
    },
  };
}

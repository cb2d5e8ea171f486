/** Measures the time that a proxy adds to a round trip to the stores: the difference from a direct connection. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { percentile, rounded } from '../bench.ts';
import { timed } from '../machine/timed.ts';
import type { Scope } from '../scope.ts';
import type { StoreUrls } from '../testbed/proxy.ts';

const CALLS = 200;
const WARM_UP = 20;
const PAUSE_MS = 25;

/** Milliseconds that the second route takes longer than the first, by the medians of alternating calls. */
export interface Added {
  redis: number;
  postgres: number;
}

interface Ways {
  redis: [Redis, Redis];
  postgres: [pg.Client, pg.Client];
}

export interface RoundTrips {
  /** Measures on an idle system. */
  measure(): Promise<Added>;
  /** Measures a few times a second, under load, until the returned function is called. */
  sample(): () => Promise<Added>;
}

/** Connects to both stores, directly and through the proxy. */
export async function openRoundTrips(scope: Scope, direct: StoreUrls, through: StoreUrls): Promise<RoundTrips> {
  const urls = [direct, through] as const;
  const redis = await Promise.all(urls.map(({ redisUrl }) => openRedis(scope, redisUrl)));
  const postgres = await Promise.all(urls.map(({ databaseUrl }) => openPostgres(scope, databaseUrl)));
  const ways = { redis, postgres } as Ways;
  return {
    async measure() {
      const times = noTimes();
      for (let i = 0; i < WARM_UP; i++) await callAll(ways, noTimes());
      for (let i = 0; i < CALLS; i++) await callAll(ways, times);
      return addedOf(times);
    },
    sample() {
      const times = noTimes();
      let stopped = false;
      const sampling = (async () => {
        while (!stopped) {
          await callAll(ways, times);
          await sleep(PAUSE_MS);
        }
      })();
      return async () => {
        stopped = true;
        await sampling;
        return addedOf(times);
      };
    },
  };
}

interface Times {
  redis: [number[], number[]];
  postgres: [number[], number[]];
}

function noTimes(): Times {
  return { redis: [[], []], postgres: [[], []] };
}

async function callAll({ redis, postgres }: Ways, times: Times): Promise<void> {
  for (const way of [0, 1] as const) {
    times.redis[way].push(await timed(() => redis[way].ping()));
    times.postgres[way].push(await timed(() => postgres[way].query('select 1')));
  }
}

function addedOf({ redis, postgres }: Times): Added {
  const added = ([direct, through]: [number[], number[]]) =>
    rounded(percentile(through, 0.5) - percentile(direct, 0.5), 2);
  return { redis: added(redis), postgres: added(postgres) };
}

function openRedis(scope: Scope, url: string): Promise<Redis> {
  return scope.start(
    async () => new Redis(url),
    async (redis) => redis.disconnect(),
  );
}

function openPostgres(scope: Scope, url: string): Promise<pg.Client> {
  return scope.start(
    async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    },
    (client) => client.end(),
  );
}

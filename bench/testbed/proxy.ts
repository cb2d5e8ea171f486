/**
 * A TCP proxy in front of both stores, in a separate process. It delays responses, so that each round trip takes some
 * milliseconds longer, as to stores on other machines; how much longer is measured. It ends with its scope.
 *
 * On crash: it ends too (helper.ts).
 */
import type { NetConnectOpts } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { percentile, rounded, timed } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { startHelper } from './helper.ts';
import type { ProxyOrder, ProxyReady } from './proxy-process.ts';

const FILE = new URL('./proxy-process.ts', import.meta.url);

interface StoreUrls {
  databaseUrl: string;
  redisUrl: string;
}

interface Proxy extends StoreUrls {
  pid: number;
}

/** Returns the addresses of both stores through the proxy. */
export async function startProxy(scope: Scope, { databaseUrl, redisUrl }: StoreUrls, delayMs: number): Promise<Proxy> {
  const targets = { postgres: postgresAddress(databaseUrl), redis: redisAddress(redisUrl) };
  const order: ProxyOrder = { delayMs, targets };
  const { child, ready } = await startHelper<ProxyReady>(scope, FILE, order);
  return {
    pid: child.pid as number,
    databaseUrl: throughPort(databaseUrl, ready.postgres as number),
    redisUrl: `redis://127.0.0.1:${ready.redis}`,
  };
}

/** Where the server of a URL from src/platform/db/embedded/embedded.ts listens: on its unix socket, if it has one. */
export function postgresAddress(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  return folder ? { path: `${folder}/.s.PGSQL.${port}` } : { host: hostname, port: Number(port) };
}

/** Where the server of a REDIS_URL listens: a path is a unix socket. */
function redisAddress(url: string): NetConnectOpts {
  if (url.startsWith('/')) return { path: url };
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
}

/** The URL of a database through another port of this machine, over TCP. */
export function throughPort(url: string, port: number): string {
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  through.searchParams.delete('host');
  return through.href;
}

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

interface RoundTrips {
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
      client.on('error', () => {}); // its calls fail; without a listener the process would
      await client.connect();
      return client;
    },
    (client) => client.end(),
  );
}

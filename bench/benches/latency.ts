/**
 * `latency`: users per second with PostgreSQL and Redis 0, 1, 5 and 40 ms away from the API and the workers, with 1, 2
 * and 4 worker processes; and the same with BullMQ's PostgreSQL backend and one worker.
 *
 * The milliseconds are the round-trip time that a proxy (testbed/proxy.ts) adds to all connections of all processes; at
 * 0 there is no proxy. Each measurement has its own stores. The clock starts with the request.
 * Ceiling: the same number of workers without the proxy. In addition: how many jobs lost their locks, how many batches
 * were retried, and the longest time without progress, from the workers' logs and the list of imports.
 */
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Context, counted, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import type { Scope } from '../scope.ts';
import { importAll, longestPause, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { openRoundTrips, startProxy } from '../testbed/proxy.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Stores, startService, startStores, startWorkers } from '../testbed/testbed.ts';

const DEFAULT_USERS = 40_000;
const DELAYS_MS = [0, 1, 5, 40];
const WORKERS = { redis: [1, 2, 4], postgres: [1] };
/** Share of the users: the PostgreSQL queue is several times slower. */
const PART = { redis: 1, postgres: 0.25 };

type Backend = keyof typeof WORKERS;

interface Case {
  backend: Backend;
  workers: number;
  delayMs: number;
  users: number;
}

interface Measured {
  ms: number;
  /** From the request to its 202. */
  acceptedMs: number;
  /** Milliseconds. */
  longestPause: number;
  lostLocks: number;
  retriedBatches: number;
  /** Milliseconds that the proxy adds to a round trip. */
  addedMs?: { redis: number; postgres: number } | undefined;
}

export async function latency({ scope, say, users = DEFAULT_USERS }: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const results: Result[] = [];
  for (const backend of ['redis', 'postgres'] as const) {
    for (const workers of WORKERS[backend]) {
      let nearby: number | undefined;
      for (const delayMs of DELAYS_MS) {
        const one = { backend, workers, delayMs, users: Math.ceil(users * PART[backend]) };
        const measured = await scope.within((inner) => measure(inner, one));
        nearby ??= perSecond(one.users, measured.ms);
        results.push(resultOf(one, measured, nearby));
        say(`${results.at(-1)?.name}: ${results.at(-1)?.value} users/s; ${results.at(-1)?.notes[1]}`);
      }
    }
  }
  return results;
}

async function measure(scope: Scope, { backend, workers, delayMs, users }: Case): Promise<Measured> {
  const stores = await startStores(scope, { redis: true });
  const direct = { databaseUrl: stores.databaseUrl, redisUrl: (stores.redis as { url: string }).url };
  const proxy = delayMs > 0 ? await startProxy(scope, direct, delayMs) : undefined;
  const far = farStores(stores, backend, proxy ?? direct);
  const addedMs = proxy ? await (await openRoundTrips(scope, direct, proxy)).measure() : undefined;
  const path = join(stores.dir, 'workers.log');
  const log = await scope.start(
    () => open(path, 'a'),
    (file) => file.close(),
  );
  const service = await startService(scope, far, 0);
  await startWorkers(scope, far, workers, { log: log.fd });
  await proveReady(service, users);
  const { ms, acceptedMs, samples } = await importAll(service, [...importBody(users, service.orgId)], users);
  return { ms, acceptedMs, longestPause: longestPause(samples), addedMs, ...faultsIn(await readFile(path, 'utf8')) };
}

/** The stores, with the addresses that API and workers use. */
function farStores(stores: Stores, backend: Backend, urls: { databaseUrl: string; redisUrl: string }): Stores {
  const redis = backend === 'redis' ? { pid: 0, ...stores.redis, url: urls.redisUrl } : undefined;
  return { ...stores, databaseUrl: urls.databaseUrl, redis };
}

/** Counts lost locks and retried batches in the workers' log, which has one JSON object per line. */
function faultsIn(log: string): { lostLocks: number; retriedBatches: number } {
  let lostLocks = 0;
  let retriedBatches = 0;
  for (const line of log.split('\n').filter((text) => text.startsWith('{'))) {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string; jobs?: number } };
    if (msg === 'a batch was not written') retriedBatches++;
    if (/lost the lock|Missing lock|Lock mismatch|could not renew lock/.test(err?.message ?? '')) {
      lostLocks += err?.jobs ?? 1;
    }
  }
  return { lostLocks, retriedBatches };
}

function resultOf({ backend, workers, delayMs, users }: Case, measured: Measured, nearby: number): Result {
  const value = perSecond(users, measured.ms);
  const { addedMs, lostLocks, retriedBatches } = measured;
  const pause = Math.round(measured.longestPause);
  return {
    name: `latency-${backend}-${workers}-${delayMs}`,
    value,
    unit: 'users/s',
    ceiling: nearby,
    ratio: rounded(value / nearby, 3),
    notes: [
      `${users} users, ${counted(workers, 'worker', 'workers')}, stores ${delayMs} ms away; ceiling: 0 ms`,
      `${counted(lostLocks, 'lost lock', 'lost locks')}, ${counted(retriedBatches, 'batch', 'batches')} retried, ` +
        `accepted after ${Math.round(measured.acceptedMs)} ms, longest pause without progress ${pause} ms`,
      ...(addedMs ? [`the proxy adds ${addedMs.redis} ms to Redis, ${addedMs.postgres} ms to PostgreSQL`] : []),
    ],
    extras: { users, workers, delayMs, backend, ...measured },
  };
}

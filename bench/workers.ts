/**
 * `workers`: users per second of a drain on Redis with 1, 2 and 4 worker processes, where the stores are about a
 * millisecond away from the workers, as on other machines. The API reaches them directly. Each has stores of its own.
 *
 * Ceiling: the rate of one worker process as many times as there are workers; the ratio says how much of an added
 * worker arrives. Beside the rates: who used the machine, as all of this shares it, and the proxy too.
 */
import { type Context, perSecond, type Result, rounded, Skipped } from './bench.ts';
import { type CpuTime, cpuPerUnit, hasProc } from './cpu.ts';
import { importAll, proveReady } from './import-all.ts';
import { importBody } from './load.ts';
import { inWords, limitOf, readUse, type Use, useBetween } from './machine-use.ts';
import { startProxy } from './proxy.ts';
import { redisVersion } from './redis.ts';
import { type Added, openRoundTrips } from './round-trip.ts';
import type { Scope } from './scope.ts';
import { startService, startStores } from './stand.ts';
import { counted, shares } from './words.ts';
import { startWorkers } from './workers-apart.ts';

const DEFAULT_USERS = 100_000;
const WORKERS = [1, 2, 4];
const DELAY_MS = 1;

interface Measured {
  workers: number;
  ms: number;
  /** Microseconds per user, by process. */
  cpu: CpuTime;
  use: Use;
  limit: string;
  /** Milliseconds that a round-trip takes longer through the proxy. */
  addedMs: { idle: Added; loaded: Added };
}

export async function workers({ scope, say, users = DEFAULT_USERS }: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc to read the processor time of a process from');
  const results: Result[] = [];
  for (const count of WORKERS) {
    const measured = await scope.within((inner) => measure(inner, users, count));
    const one = results[0]?.value ?? perSecond(users, measured.ms);
    results.push(resultOf(measured, users, one));
    say(`workers: ${results.at(-1)?.value} users/s with ${counted(count, 'worker', 'workers')}`);
  }
  return results;
}

async function measure(scope: Scope, users: number, count: number): Promise<Measured> {
  const stores = await startStores(scope, { redis: true });
  const direct = { databaseUrl: stores.databaseUrl, redisUrl: (stores.redis as { url: string }).url };
  const proxy = await startProxy(scope, direct, DELAY_MS);
  const service = await startService(scope, stores, 0);
  const settings = { DATABASE_URL: proxy.databaseUrl, REDIS_URL: proxy.redisUrl };
  const pids = await startWorkers(scope, stores, count, { settings });
  await proveReady(service, users);
  const body = [...importBody(users, service.orgId)];
  const roundTrips = await openRoundTrips(scope, direct, proxy);
  const idle = await roundTrips.measure();
  const roles = { ...service.roles(), worker: pids, ...stores.roles(), proxy: [proxy.pid] };

  const before = readUse(roles);
  const stop = roundTrips.sample();
  const { ms } = await importAll(service, body, users);
  const after = readUse(roles);
  const loaded = await stop();
  const use = useBetween(before, after);
  return {
    workers: count,
    ms,
    cpu: cpuPerUnit(before.byRole, after.byRole, users),
    use,
    limit: limitOf(use, { redis: 1, proxy: 1, worker: count, api: 1 }),
    addedMs: { idle, loaded },
  };
}

function resultOf({ workers: count, ms, ...measured }: Measured, users: number, one: number): Result {
  const { cpu, use, limit, addedMs } = measured;
  const value = perSecond(users, ms);
  const ceiling = one * count;
  const notes = [
    `${users} users, ${counted(count, 'worker', 'workers')}; ceiling: that many times the rate of one`,
    `the proxy adds ${addedMs.idle.redis} ms to Redis, ${addedMs.idle.postgres} ms to PostgreSQL; ` +
      `under load ${addedMs.loaded.redis} and ${addedMs.loaded.postgres} ms`,
    `CPU µs a user: ${shares(cpu)}`,
    `of ${use.cores} cores: ${inWords(use)}`,
    `limit: ${limit}`,
  ];
  const extras = { users, workers: count, speedUp: rounded(value / one, 3), ...measured };
  return {
    name: `workers-${count}`,
    value,
    unit: 'users/s',
    ceiling,
    ratio: rounded(value / ceiling, 3),
    notes,
    extras,
  };
}

/**
 * `workers`: users per second of a drain on Redis with 1, 2, 4 and 8 worker processes, where the stores are about a
 * millisecond away from the workers, as on other machines. The API reaches them directly. Each has stores of its own.
 *
 * All of this shares one machine. So that more workers can be seen to help, each worker has a tenth of a core and each store
 * three (machine/cpu-share.ts), as if they had small machines of their own; the dispatcher is a process by itself, as it is not to wait
 * for a worker's turn. The clock runs from the 202.
 * Ceiling: the rate of one worker process as many times as there are workers; the ratio says how much of an added
 * worker arrives. ExtraColumns the rates: who used how much of what it has, and so what the limit is.
 */
import { type Context, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { counted, shares } from '../format.ts';
import { type CpuTime, cpuPerUnit, hasProc } from '../machine/cpu.ts';
import { inWords, limitOf, readUse, type Use, useBetween } from '../machine/machine-use.ts';
import { holdAll } from '../machine/throttled.ts';
import { type Added, openRoundTrips } from '../measure/round-trip.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { startProxy } from '../testbed/proxy.ts';
import { redisVersion } from '../testbed/redis.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { startWorkers } from '../testbed/workers-apart.ts';

const DEFAULT_USERS = 40_000;
const WORKERS = [1, 2, 4, 8];
/** Fewer say nothing of so many workers. */
const LEAST_PER_WORKER = 20;
const DELAY_MS = 1;
/** Cores of each process, and of PostgreSQL with all of its own. */
const SHARES: Record<string, number> = { worker: 0.1, redis: 0.3, postgres: 0.3 };

interface Measured {
  workers: number;
  /** From the 202 until the last user was read. */
  ms: number;
  /** In which part of the time each role had used up its part of a core; undefined where none can be given. */
  heldBack?: CpuTime | undefined;
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
  for (const count of WORKERS.filter((n) => n === 1 || n * LEAST_PER_WORKER <= users)) {
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
  await startWorkers(scope, stores, 1, {
    settings: { ...settings, WORKER_ROLES: 'dispatch,rescue,maintenance,mail,webhooks' },
  });
  const pids = await startWorkers(scope, stores, count, { settings: { ...settings, WORKER_ROLES: 'import' } });
  await proveReady(service, users);
  const body = [...importBody(users, service.orgId)];
  const roundTrips = await openRoundTrips(scope, direct, proxy);
  const idle = await roundTrips.measure();
  const roles = { ...service.roles(), worker: pids, ...stores.roles(), proxy: [proxy.pid] };

  const held = await holdAll(scope, { worker: pids, ...stores.roles() }, SHARES);

  let before = readUse(roles);
  let stop = async () => idle;
  const { ms, acceptedMs } = await importAll(service, body, users, {
    onAccepted() {
      before = readUse(roles);
      held?.begin();
      stop = roundTrips.sample();
    },
  });
  const after = readUse(roles);
  const loaded = await stop();
  const use = useBetween(before, after);
  return {
    workers: count,
    ms: ms - acceptedMs,
    heldBack: held?.end(),
    cpu: cpuPerUnit(before.byRole, after.byRole, users),
    use,
    limit: limitOf(use, { redis: 1, proxy: 1, worker: count }),
    addedMs: { idle, loaded },
  };
}

function resultOf({ workers: count, ms, ...measured }: Measured, users: number, one: number): Result {
  const { cpu, use, limit, addedMs, heldBack } = measured;
  const value = perSecond(users, ms);
  const ceiling = one * count;
  const notes = [
    `${users} users, ${counted(count, 'worker', 'workers')}; ceiling: that many times the rate of one`,
    `the proxy adds ${addedMs.idle.redis} ms to Redis, ${addedMs.idle.postgres} ms to PostgreSQL; ` +
      `under load ${addedMs.loaded.redis} and ${addedMs.loaded.postgres} ms`,
    `CPU µs a user: ${shares(cpu)}`,
    `of ${use.cores} cores: ${inWords(use)}`,
    heldBack
      ? `had used up its part of a core in % of the time: ${listed(heldBack)}; limit: ${mostOf(heldBack)}`
      : `parts of cores cannot be given here; limit: ${limit}`,
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

function listed(heldBack: Record<string, number>): string {
  return Object.entries(heldBack)
    .map(([role, part]) => `${role} ${Math.round(part * 100)}`)
    .join(', ');
}

function mostOf(heldBack: Record<string, number>): string {
  return Object.entries(heldBack).reduce((a, b) => (b[1] > a[1] ? b : a))[0];
}

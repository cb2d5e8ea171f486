/**
 * `workers`: users per second of a drain on Redis with 1, 2, 4 and 8 worker processes. The stores are about a
 * millisecond away from the workers, as if on other machines; the API reaches them directly. Each measurement has its
 * own stores.
 *
 * Everything shares one machine. To show the effect of more workers, each worker gets a tenth of a core and each store
 * three tenths (machine/throttle.ts), as if they ran on small machines. The dispatcher is a separate process, so that
 * it does not wait for a worker's share. The clock starts at the 202.
 * Ceiling: the rate of one worker process times the number of workers; the ratio says how much an additional worker
 * adds. In addition to the rates: how much of its share each role used, and thus what the limit is.
 */
import { type Context, counted, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { type CpuTime, cpuPerUnit, hasProc, shares } from '../machine/cpu.ts';
import { formatUse, limitOf, readUse, type Use, useBetween } from '../machine/machine.ts';
import { throttleAll } from '../machine/throttle.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { type Added, openRoundTrips, startProxy } from '../testbed/proxy.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores, startWorkers } from '../testbed/testbed.ts';

const DEFAULT_USERS = 40_000;
const WORKERS = [1, 2, 4, 8];
/** Fewer users per worker give no meaningful figure. */
const LEAST_PER_WORKER = 20;
const DELAY_MS = 1;
/** Cores of each process; PostgreSQL's processes share one value. */
const SHARES: Record<string, number> = { worker: 0.1, redis: 0.3, postgres: 0.3 };

interface Measured {
  workers: number;
  /** From the 202 until the last user was read. */
  ms: number;
  /** The share of time in which each role was throttled; undefined where no shares can be assigned. */
  heldBack?: CpuTime | undefined;
  /** Microseconds per user, by process. */
  cpu: CpuTime;
  use: Use;
  limit: string;
  /** Milliseconds that the proxy adds to a round trip. */
  addedMs: { idle: Added; loaded: Added };
}

export async function workers({ scope, say, users = DEFAULT_USERS }: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc, from which processor time is read');
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

  const throttling = await throttleAll(scope, { worker: pids, ...stores.roles() }, SHARES);

  let before = readUse(roles);
  let stop = async () => idle;
  const { ms, acceptedMs } = await importAll(service, body, users, {
    onAccepted() {
      before = readUse(roles);
      throttling?.begin();
      stop = roundTrips.sample();
    },
  });
  const after = readUse(roles);
  const loaded = await stop();
  const use = useBetween(before, after);
  return {
    workers: count,
    ms: ms - acceptedMs,
    heldBack: throttling?.end(),
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
    `${users} users, ${counted(count, 'worker', 'workers')}; ceiling: the rate of one worker, times ${count}`,
    `the proxy adds ${addedMs.idle.redis} ms to Redis, ${addedMs.idle.postgres} ms to PostgreSQL; ` +
      `under load ${addedMs.loaded.redis} and ${addedMs.loaded.postgres} ms`,
    `CPU µs per user: ${shares(cpu)}`,
    `of ${use.cores} cores: ${formatUse(use)}`,
    heldBack
      ? `throttled in % of the time: ${listed(heldBack)}; limit: ${mostOf(heldBack)}`
      : `shares of cores cannot be assigned here; limit: ${limit}`,
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

/**
 * `drain-redis`, `drain-postgres`: users per second from sending a bulk import until its last user can be read.
 *
 * Ceiling: the same number of no-op BullMQ jobs (ceilings/noop.ts), on the same servers after the service has stopped.
 * In addition to the rates: the processor time of everything but the load generator, per user and per no-op job.
 */
import { type Context, counted, perSecond, type Result, rounded, Skipped } from '../bench.ts';
import { measureNoops, type NoopGrid, type NoopPoint } from '../ceilings/noop.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, shares, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Stores, settle, startService, startStores } from '../testbed/testbed.ts';

/** The PostgreSQL queue is several times slower; each pass takes about 15 s. */
const DEFAULT_USERS = { redis: 100_000, postgres: 20_000 };

type Backend = keyof typeof DEFAULT_USERS;

export async function drain(backend: Backend, context: Context): Promise<Result[]> {
  if (backend === 'redis' && !redisVersion()) throw new Skipped('redis-server is not on this machine');
  const name = `drain-${backend}`;
  const { scope, say, users = DEFAULT_USERS[backend] } = context;
  const workers = Math.max(1, context.workers);
  const stores = await startStores(scope, { redis: backend === 'redis' });
  const drained = await scope.within((inner) => drainImport(inner, stores, users, workers));
  say(`${name}: ${perSecond(users, drained.ms)} users/s with ${counted(workers, 'worker', 'workers')}`);
  await settle(stores);
  const grid = await measureNoops(scope, stores, users, (p) =>
    say(`${name}: ${p.jobsPerSecond} no-op jobs/s, ${at(p)}`),
  );
  return [resultOf(name, { users, workers, ...drained }, grid)];
}

interface Drained {
  ms: number;
  /** Microseconds per user, by process. */
  cpu?: CpuTime;
}

async function drainImport(scope: Scope, stores: Stores, users: number, workers: number): Promise<Drained> {
  const service = await startService(scope, stores, workers);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };

  const before = hasProc() ? cpuTime(roles) : undefined;
  const { ms } = await importAll(service, body, users);
  return before ? { ms, cpu: cpuPerUnit(before, cpuTime(roles), users) } : { ms };
}

function resultOf(
  name: string,
  { users, workers, ms, cpu }: Drained & { users: number; workers: number },
  { best, grid }: NoopGrid,
): Result {
  const value = perSecond(users, ms);
  const ratio = rounded(value / best.jobsPerSecond, 3);
  const extras = {
    users,
    workers,
    ...(cpu ? { cpuMicrosecondsPerUser: sumOf(cpu), cpu } : {}),
    ...(best.cpu ? { noopCpuMicrosecondsPerJob: best.cpuMicrosecondsPerJob, noopCpu: best.cpu } : {}),
    // On a shared machine, steadier than the ratio of the rates.
    ...(cpu && best.cpu ? { cpuRatio: rounded(sumOf(best.cpu) / sumOf(cpu), 3) } : {}),
    grid,
  };
  const notes = [
    `${users} users, ${counted(workers, 'worker', 'workers')}; ceiling: no-op BullMQ jobs, ${at(best)}`,
    ...(cpu ? [`CPU µs per user: ${shares(cpu)}`] : []),
    ...(best.cpu ? [`CPU µs per no-op job: ${shares(best.cpu)}`] : []),
  ];
  return { name, value, unit: 'users/s', ceiling: best.jobsPerSecond, ratio, notes, extras };
}

function at({ concurrency, processes }: NoopPoint): string {
  return `concurrency ${concurrency}, ${counted(processes, 'process', 'processes')}`;
}

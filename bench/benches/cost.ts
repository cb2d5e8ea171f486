/**
 * `cost`: microseconds of processor time per imported user, by process and by processing step.
 *
 * Runs two imports on fresh stores, both on the Redis queue. The first, undisturbed, measures how much time each
 * process takes. The second, with V8's profiler and with PostgreSQL's and Redis' own statistics, divides that time into
 * steps.
 * Ceiling: a BullMQ job that does nothing, in the same run at concurrency 200 in one process, plus 60 µs. The ratio is
 * the time per user divided by that, so less is better.
 *
 * KEEP_PROFILES=dir keeps the import's profiles there as cost-api.cpuprofile and cost-worker.cpuprofile (for further
 * workers cost-worker-2.cpuprofile …), for measure/flame.ts and for the profiler in Chrome's DevTools.
 */
import { resolve } from 'node:path';
import { type Context, type Result, rounded, Skipped } from '../bench.ts';
import { measurePoint } from '../ceilings/noop.ts';
import { shares } from '../format.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, sumOf } from '../machine/cpu.ts';
import { MAIN_THREAD, threadTime } from '../machine/threads.ts';
import { type Statement, watchBackends } from '../measure/postgres-cost.ts';
import { type Profiled, profiledImport } from '../measure/profiled-import.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/redis.ts';
import { type Stores, settle, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 100_000;
/** What Muster's own processing of a user may take in addition to the job. */
const OUR_SHARE = 60;
const NOOP = { concurrency: 200, processes: 1 };
/** Steps under half a microsecond are summed up. */
const LEAST = 0.5;

export async function cost(context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc, from which processor time is read');
  const { scope, say, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const { plain, noop } = await scope.within(async (inner) => {
    const stores = await startStores(inner, { redis: true });
    const plain = await inner.within((service) => plainImport(service, stores, users, workers));
    say(`cost: µs per user: ${shares(plain.cpu)}`);
    await settle(stores);
    return { plain, noop: (await measurePoint(inner, stores, users, NOOP)).cpu as CpuTime };
  });
  say(`cost: µs per no-op job: ${shares(noop)}; running the import again, with profiles`);
  const profiled = await scope.within((inner) => profiledImport(inner, users, workers));
  if (process.env.KEEP_PROFILES) say(`cost: the profiles are in ${resolve(process.env.KEEP_PROFILES)}`);
  return [resultOf({ users, workers, plain, noop, profiled })];
}

interface Plain {
  /** Microseconds per user: by process, and for some processes by part. */
  cpu: CpuTime;
  threads: { api: CpuTime; worker: CpuTime };
  backends: CpuTime;
}

async function plainImport(scope: Scope, stores: Stores, users: number, workers: number): Promise<Plain> {
  const service = await startService(scope, stores, workers);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const pids = service.roles() as { api: number[]; worker: number[] };
  const roles = { ...pids, ...stores.roles() };
  const readTimes = () => ({ cpu: cpuTime(roles), api: threadTime(pids.api), worker: threadTime(pids.worker) });

  const watch = await watchBackends(scope, stores);
  const before = readTimes();
  await importAll(service, body, users);
  const after = readTimes();
  const perUser = (part: keyof typeof before) => cpuPerUnit(before[part], after[part], users);
  return {
    cpu: perUser('cpu'),
    threads: { api: perUser('api'), worker: perUser('worker') },
    backends: cpuPerUnit({}, await watch.end(), users),
  };
}

interface Measured {
  users: number;
  workers: number;
  plain: Plain;
  noop: CpuTime;
  profiled: Profiled;
}

function resultOf({ users, workers, plain, noop, profiled }: Measured): Result {
  const value = sumOf(plain.cpu);
  const ceiling = rounded(sumOf(noop) + OUR_SHARE, 1);
  const steps = {
    worker: nodeSteps(plain.threads.worker, profiled.steps.worker),
    redis: divided(plain.cpu.redis as number, profiled.steps.redis),
    postgres: plain.backends,
    api: nodeSteps(plain.threads.api, profiled.steps.api),
  };
  const { commands, statements } = profiled;
  const extras = { users, workers, cpu: plain.cpu, noopCpu: noop, steps, commands, statements };
  const notes = [
    `${users} users; ceiling: a no-op job, ${shares(noop)}, plus ${OUR_SHARE}; less is better`,
    ...Object.entries(steps).map(
      ([role, parts]) => `${role} ${Math.round(plain.cpu[role] as number)}: ${listed(parts)}`,
    ),
    `postgres by statement, elapsed: ${listed(byStatement(statements))}`,
  ];
  return { name: 'cost', value, unit: 'µs', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

/** Microseconds by step: the main thread's time, divided according to its profile, and the other threads. */
function nodeSteps({ [MAIN_THREAD]: main = 0, ...others }: CpuTime, parts: Record<string, number>): CpuTime {
  return { ...divided(main, parts), ...others };
}

function divided(time: number, parts: Record<string, number>): CpuTime {
  return Object.fromEntries(Object.entries(parts).map(([step, share]) => [step, rounded(time * share, 1)]));
}

/** Microseconds of the statements that clients send, by their first words. */
function byStatement(statements: Statement[]): CpuTime {
  const time: CpuTime = {};
  for (const { query, microseconds } of statements.filter(({ nested }) => !nested)) {
    const label = `${query.split(' ').slice(0, 3).join(' ')} …`;
    time[label] = (time[label] ?? 0) + microseconds;
  }
  return time;
}

/** Largest first. */
export function listed(parts: CpuTime): string {
  const sorted = Object.entries(parts).sort((a, b) => b[1] - a[1]);
  const shown = sorted.filter(([, us]) => us >= LEAST).map(([step, us]) => `${step} ${us.toFixed(1)}`);
  const small = sorted.filter(([, us]) => us < LEAST).reduce((sum, [, us]) => sum + us, 0);
  return [...shown, ...(small >= LEAST ? [`all else ${small.toFixed(1)}`] : [])].join(', ');
}

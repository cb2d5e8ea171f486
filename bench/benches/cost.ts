/**
 * `cost`: microseconds of processor time per imported user, by process; for PostgreSQL also by the purpose of its
 * processes. The import is on fresh stores, with the queue on Redis.
 *
 * Ceiling: a BullMQ job that does nothing, in the same run at concurrency 200 in one process, plus 60 µs. The ratio is
 * the time per user divided by that, so less is better.
 *
 * Node.js itself says where a process spends its time: with
 * `NODE_OPTIONS="--cpu-prof --cpu-prof-dir=/tmp/p" npm run bench -- --only cost`, every process leaves a profile for
 * Chrome's DevTools.
 */
import { type Context, type Result, rounded, Skipped } from '../bench.ts';
import { measurePoint } from '../ceilings/noop.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, livingTime, shares, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Stores, settle, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 100_000;
/** What Muster's own processing of a user may take in addition to the job. */
const OUR_SHARE = 60;
const NOOP = { concurrency: 200, processes: 1 };
/** Purposes under half a microsecond are summed up. */
const LEAST = 0.5;
/** By application name. */
const CLIENTS: Record<string, string> = {
  'muster-api': 'API (COPY, status calls)',
  'muster-writer': 'batches',
  'muster-worker': 'dispatcher and other loops',
  'muster-queue': 'queue',
};
const ENDED = 'parent and ended processes';

const SAMPLE_MS = 1000;

interface Measured {
  users: number;
  workers: number;
  /** Microseconds per user, by process. */
  cpu: CpuTime;
  /** The time of PostgreSQL, by the purpose of its processes. */
  postgres: CpuTime;
  noopCpu: CpuTime;
}

export async function cost(context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc, from which processor time is read');
  const { scope, say, users = DEFAULT_USERS } = context;
  const workers = Math.max(1, context.workers);
  const stores = await startStores(scope, { redis: true });
  const used = await scope.within((inner) => measuredImport(inner, stores, users, workers));
  say(`cost: µs per user: ${shares(used.cpu)}`);
  await settle(stores);
  const noopCpu = (await measurePoint(scope, stores, users, NOOP)).cpu as CpuTime;
  return [resultOf({ users, workers, ...used, noopCpu })];
}

async function measuredImport(
  scope: Scope,
  stores: Stores,
  users: number,
  workers: number,
): Promise<Pick<Measured, 'cpu' | 'postgres'>> {
  const service = await startService(scope, stores, workers);
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };
  const watch = await watchBackends(scope, stores);
  const before = cpuTime(roles);
  await importAll(service, body, users);
  const cpu = cpuPerUnit(before, cpuTime(roles), users);
  return { cpu, postgres: cpuPerUnit({}, await watch.end(), users) };
}

function resultOf({ users, workers, cpu, postgres, noopCpu }: Measured): Result {
  const value = sumOf(cpu);
  const ceiling = rounded(sumOf(noopCpu) + OUR_SHARE, 1);
  const notes = [
    `${users} users: ${shares(cpu)}; ceiling: a no-op job, ${shares(noopCpu)}, plus ${OUR_SHARE}; less is better`,
    `postgres ${Math.round(cpu.postgres as number)}: ${listed(postgres)}`,
  ];
  const extras = { users, workers, cpu, noopCpu, postgres };
  return { name: 'cost', value, unit: 'µs', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

/** Largest first. */
export function listed(parts: CpuTime): string {
  const sorted = Object.entries(parts).sort((a, b) => b[1] - a[1]);
  const shown = sorted.filter(([, us]) => us >= LEAST).map(([purpose, us]) => `${purpose} ${us.toFixed(1)}`);
  const small = sorted.filter(([, us]) => us < LEAST).reduce((sum, [, us]) => sum + us, 0);
  return [...shown, ...(small >= LEAST ? [`all else ${small.toFixed(1)}`] : [])].join(', ');
}

interface BackendWatch {
  /** Ends the watch; returns the microseconds used since it began, by purpose of the processes. */
  end(): Promise<CpuTime>;
}

/**
 * Watches the server's processes from now on, at most as long as the scope lasts. Without that, the time of idle
 * connections that are closed would count as their parent's.
 */
async function watchBackends(scope: Scope, stores: Stores): Promise<BackendWatch> {
  const first = new Map<number, number>();
  const last = new Map<number, { role: string; time: number }>();
  let failed: unknown;
  const sample = async (isFirst = false) => {
    const found = await backends(stores);
    const times = livingTime(found.map(({ pid }) => pid));
    for (const { pid, role } of found) {
      const time = times.get(pid);
      // It ended meanwhile: the previous sample has its time.
      if (time === undefined) continue;
      if (!first.has(pid)) first.set(pid, isFirst ? time : 0);
      last.set(pid, { role, time });
    }
  };
  await sample(true);
  const before = serverTime(stores);
  const timer = await scope.start(
    async () => setInterval(() => void sample().catch((error: unknown) => (failed = error)), SAMPLE_MS),
    async (opened) => clearInterval(opened),
  );
  return {
    async end() {
      clearInterval(timer);
      await sample();
      if (failed) throw failed;
      const used: CpuTime = { [ENDED]: serverTime(stores) - before };
      for (const [pid, { role, time }] of last) {
        const mine = time - (first.get(pid) as number);
        used[role] = (used[role] ?? 0) + mine;
        (used[ENDED] as number) -= mine;
      }
      return used;
    },
  };
}

async function backends({ pool }: Stores): Promise<{ pid: number; role: string }[]> {
  const { rows } = await pool.query<{ pid: number; kind: string; name: string }>(
    `select pid, backend_type as kind, application_name as name from pg_stat_activity where pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid, kind, name }) => ({
    pid,
    role: kind === 'client backend' ? (CLIENTS[name] ?? 'others') : kind,
  }));
}

function serverTime({ roles }: Stores): number {
  return cpuTime({ server: roles().postgres as number[] }).server as number;
}

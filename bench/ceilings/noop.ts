/**
 * The ceiling of the drain benches: the same number of no-op BullMQ jobs, on the same store servers.
 *
 * One process adds the jobs while one or two others, started and connected before, process them. The clock runs from
 * the message to begin until the last job is done. The best point of a fixed grid counts.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { migrateQueue } from '../../src/imports/queue/schema.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { perSecond } from '../bench.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import type { Stores } from '../testbed/testbed.ts';
import type { NoopOrder, NoopReport, NoopStore } from './noop-process.ts';

const CONCURRENCIES = [50, 200, 400];
const PROCESSES = [1, 2];
const FILE = fileURLToPath(new URL('./noop-process.ts', import.meta.url));
const STUCK_AFTER_MS = 60_000;

export interface NoopPoint {
  concurrency: number;
  /** Worker processes. */
  processes: number;
  jobsPerSecond: number;
  /** Over all processes and stores. */
  cpuMicrosecondsPerJob?: number;
  /** Microseconds per job, by process. */
  cpu?: CpuTime;
}

export interface NoopGrid {
  best: NoopPoint;
  grid: NoopPoint[];
}

/** Measures the whole grid. */
export async function measureNoops(
  scope: Scope,
  stores: Stores,
  jobs: number,
  say: (point: NoopPoint) => void,
): Promise<NoopGrid> {
  const grid: NoopPoint[] = [];
  for (const processes of PROCESSES) {
    for (const concurrency of CONCURRENCIES) {
      const point = await scope.within((inner) => measurePoint(inner, stores, jobs, { concurrency, processes }));
      say(point);
      grid.push(point);
    }
  }
  const best = grid.reduce((a, b) => (b.jobsPerSecond > a.jobsPerSecond ? b : a));
  return { best, grid };
}

export async function measurePoint(
  scope: Scope,
  stores: Stores,
  jobs: number,
  { concurrency, processes }: { concurrency: number; processes: number },
): Promise<NoopPoint> {
  const store = await emptyQueue(scope, stores, `noop_${concurrency}_${processes}`);
  const workers: ChildProcess[] = [];
  for (let i = 0; i < processes; i++) workers.push(await startProcess(scope, { role: 'worker', store, concurrency }));
  const producer = await startProcess(scope, { role: 'producer', store, jobs });
  const pids = { producer: [producer.pid as number], worker: workers.map((w) => w.pid as number) };
  const roles = { ...pids, ...stores.roles() };

  const before = hasProc() ? cpuTime(roles) : undefined;
  const start = performance.now();
  const finished = untilDone(workers, jobs);
  producer.send({ begin: true });
  await finished;
  const ms = performance.now() - start;
  const cpu = before && cpuPerUnit(before, cpuTime(roles), jobs);
  const point = { concurrency, processes, jobsPerSecond: perSecond(jobs, ms) };
  return cpu ? { ...point, cpuMicrosecondsPerJob: sumOf(cpu), cpu } : point;
}

/** A new queue; on PostgreSQL in its own database, so that earlier jobs have left no bloat in its tables. */
async function emptyQueue(scope: Scope, stores: Stores, name: string): Promise<NoopStore> {
  if (stores.redis) return { kind: 'redis', url: stores.redis.url, name };
  await scope.start(
    () => stores.pool.query(`create database ${name}`),
    () => stores.pool.query(`drop database ${name} with (force)`),
  );
  const url = new URL(stores.databaseUrl);
  url.pathname = `/${name}`;
  const pool = openPool(url.href, { max: 1, name: 'bench' });
  await migrateQueue(pool).finally(() => pool.end());
  return { kind: 'postgres', url: url.href, name };
}

/** Starts a process and waits until it is connected to the store. */
async function startProcess(scope: Scope, order: NoopOrder): Promise<ChildProcess> {
  const child = await scope.start(
    async () => fork(FILE, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    endProcess,
  );
  child.send(order);
  const dead = new AbortController();
  child.once('exit', () => dead.abort(new Error(`A ${order.role} of no-op jobs ended before it was ready.`)));
  await once(child, 'message', { signal: dead.signal });
  return child;
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  // Nothing needs to be finished: remaining jobs disappear with the store.
  child.kill('SIGKILL');
  await exited;
}

/** Resolves when all jobs are done; rejects when a worker ends, or when no job is done for a minute. */
function untilDone(workers: ChildProcess[], jobs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = workers.map(() => 0);
    const stuck = setTimeout(() => reject(new Error('No no-op job was done for a minute.')), STUCK_AFTER_MS);
    for (const [i, worker] of workers.entries()) {
      worker.once('exit', () => reject(new Error('A worker of no-op jobs ended.')));
      worker.on('message', (report: NoopReport) => {
        stuck.refresh();
        done[i] = report.done ?? 0;
        if (done.reduce((a, b) => a + b, 0) < jobs) return;
        clearTimeout(stuck);
        resolve();
      });
    }
  });
}

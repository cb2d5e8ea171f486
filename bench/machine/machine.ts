/**
 * The machine of a measurement: what it is, which processes used its cores during a run, and what therefore limited the
 * run.
 *
 * Guarantee: the use by other programs is reported separately, as the run could not have it.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';
import { postgresPrograms } from '../../src/platform/db/embedded/cluster.ts';
import { rounded } from '../bench.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type CpuTime, cpuTime, type Roles } from './cpu.ts';

const run = promisify(execFile);

/** Date, machine and versions in one line. */
export async function describeRun(): Promise<string> {
  const cores = availableParallelism();
  const model = cpus()[0]?.model.trim() || process.arch;
  const memory = Math.round(totalmem() / 2 ** 30);
  const redis = redisVersion();
  const versions = [
    `node ${process.versions.node}`,
    `PostgreSQL ${await postgresVersion()}`,
    redis ? `Redis ${redis}` : 'no Redis',
    `bullmq ${await bullmqVersion()}`,
  ];
  const machine = `${cores} ${cores === 1 ? 'core' : 'cores'} of ${model}, ${memory} GiB`;
  return `${new Date().toISOString().slice(0, 10)} | ${machine} | ${versions.join(', ')}`;
}

async function postgresVersion(): Promise<string> {
  const { stdout } = await run((await postgresPrograms()).postgres, ['--version']);
  return /(\d\S*)\s*$/.exec(stdout)?.[1] ?? stdout.trim();
}

async function bullmqVersion(): Promise<string> {
  const file = new URL('../../node_modules/bullmq/package.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { version: string }).version;
}

/** From this share on, cores count as fully used. */
const FULL = 0.9;

export interface Use {
  /** Cores of the machine. */
  cores: number;
  /** Cores used on average, by role; `load` is our own process. */
  used: Record<string, number>;
  /** Cores used by processes outside the run. */
  others: number;
  idle: number;
}

interface Reading {
  ms: number;
  /** Microseconds. */
  byRole: CpuTime;
  /** Milliseconds of all cores, as the kernel counts them. */
  busy: number;
}

/** @throws Error when a root process has ended */
export function readUse(roles: Roles): Reading {
  const { user, system } = process.cpuUsage();
  const busy = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  return { ms: performance.now(), byRole: { ...cpuTime(roles), load: user + system }, busy };
}

export function useBetween(before: Reading, after: Reading, cores = availableParallelism()): Use {
  const ms = after.ms - before.ms;
  const roles = Object.entries(after.byRole);
  const used = roles.map(([role, us]) => [role, (us - (before.byRole[role] ?? 0)) / 1000 / ms] as const);
  const ours = used.reduce((sum, [, n]) => sum + n, 0);
  // The kernel does not account cores and processes at the same moment.
  const busy = Math.min(cores, (after.busy - before.busy) / ms);
  const others = Math.max(0, busy - ours);
  return {
    cores,
    used: Object.fromEntries(used.map(([role, n]) => [role, rounded(n, 2)])),
    others: rounded(others, 2),
    idle: rounded(Math.max(0, cores - ours - others), 2),
  };
}

/**
 * What limits the run, so that more workers would not help.
 * @param most cores that a role can use: one for each process that works in a single thread, or its assigned share
 */
export function limitOf({ used, idle, others, cores }: Use, most: Record<string, number>): string {
  for (const [role, available] of Object.entries(most)) {
    if ((used[role] ?? 0) / available >= FULL) return `${role}: it used all ${available} cores available to it`;
  }
  if (idle > (1 - FULL) * cores) return 'waiting: neither a process nor the machine is fully used';
  const largest = Object.entries(used).reduce((a, b) => (b[1] > a[1] ? b : a))[0];
  return others > 1 - FULL
    ? `the machine, which is shared with other programs; ${largest} uses most of it`
    : `the machine; ${largest} uses most of it`;
}

/** `api 0.11, worker 1.02, …`. */
export function formatUse({ used, others, idle }: Use): string {
  const parts = [...Object.entries(used), ['others', others], ['idle', idle]] as [string, number][];
  return parts.map(([role, n]) => `${role} ${n.toFixed(2)}`).join(', ');
}

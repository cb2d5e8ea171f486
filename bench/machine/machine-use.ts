/**
 * Who used the machine's cores during a run, and what therefore limited it.
 *
 * Guarantee: what other programs used meanwhile is told apart, as it was not there for the run.
 */
import { availableParallelism, cpus } from 'node:os';
import { rounded } from '../bench.ts';
import { type CpuTime, cpuTime, type Roles } from './cpu.ts';

/** Cores that are used as good as all the time. */
const FULL = 0.9;

export interface Use {
  /** Of the machine. */
  cores: number;
  /** Cores used on average, by role; `load` is our own process. */
  used: Record<string, number>;
  /** Cores used by what is no part of the run. */
  others: number;
  idle: number;
}

export interface Reading {
  ms: number;
  /** Microseconds. */
  byRole: CpuTime;
  /** Milliseconds of all cores, as the kernel counts them. */
  busy: number;
}

/** @throws Error when a root process is gone */
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
  // The kernel's account of the cores and of the processes are not of the same moment.
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
 * What more workers cannot help against, if there is such a thing.
 * @param most cores that a role can use: one for each process with but one thread for its work, or what it is held to
 */
export function limitOf({ used, idle, others, cores }: Use, most: Record<string, number>): string {
  for (const [role, available] of Object.entries(most)) {
    if ((used[role] ?? 0) / available >= FULL) return `${role}: it used all of the ${available} cores that it can use`;
  }
  if (idle > (1 - FULL) * cores) return 'waiting: neither a process nor the machine is used up';
  const largest = Object.entries(used).reduce((a, b) => (b[1] > a[1] ? b : a))[0];
  return others > 1 - FULL
    ? `the machine, which others use too; most of it goes to ${largest}`
    : `the machine; most of it goes to ${largest}`;
}

/** `api 0.11, worker 1.02, …`. */
export function inWords({ used, others, idle }: Use): string {
  const parts = [...Object.entries(used), ['others', others], ['idle', idle]] as [string, number][];
  return parts.map(([role, n]) => `${role} ${n.toFixed(2)}`).join(', ');
}

/**
 * Which processes used the machine's cores during a run, and what therefore limited it.
 *
 * Guarantee: the use by other programs is reported separately, as the run could not have it.
 */
import { availableParallelism, cpus } from 'node:os';
import { rounded } from '../bench.ts';
import { type CpuTime, cpuTime, type Roles } from './cpu.ts';

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

export interface Reading {
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

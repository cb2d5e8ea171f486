/**
 * Processor time and memory of other processes, read from /proc.
 *
 * Guarantee: a process that ended in between is still counted, because its parent's figures include reaped children
 * (proc(5), cutime and cstime), and no process is counted twice.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** USER_HZ, which Linux fixes at 100 for user space on every machine that Node.js supports. */
const MICROSECONDS_PER_TICK = 1_000_000 / 100;
const BYTES_PER_KB = 1024;

/** Root processes by role, such as `{ api: [4711], postgres: [4712] }`. */
export type Roles = Record<string, number[]>;
/** Microseconds by role. */
export type CpuTime = Record<string, number>;

export function hasProc(): boolean {
  return existsSync('/proc/self/stat');
}

/**
 * Processor time so far of each role's processes and all their descendants.
 * @throws Error when a root process has ended
 */
export function cpuTime(roles: Roles): CpuTime {
  const processes = readProcesses();
  const total = (pid: number, role: string): number => {
    const found = processes.get(pid);
    if (!found) throw new Error(`A process of ${role} ended while it was being measured.`);
    return found.ticks + found.children.reduce((sum, child) => sum + total(child, role), 0);
  };
  const time: CpuTime = {};
  for (const [role, pids] of Object.entries(roles)) {
    time[role] = pids.reduce((sum, pid) => sum + total(pid, role), 0) * MICROSECONDS_PER_TICK;
  }
  return time;
}

/** The process and all its descendants. */
export function familyOf(pid: number): number[] {
  const processes = readProcesses();
  const family = (one: number): number[] => [one, ...(processes.get(one)?.children ?? []).flatMap(family)];
  return family(pid);
}

/** Microseconds of processor time of each process, without its children; processes that have ended are left out. */
export function livingTime(pids: readonly number[]): Map<number, number> {
  const processes = readProcesses();
  const times = pids.map((pid) => [pid, (processes.get(pid)?.ticks ?? Number.NaN) * MICROSECONDS_PER_TICK] as const);
  return new Map(times.filter(([, time]) => !Number.isNaN(time)));
}

/** The time used since `before`, by role, divided by `count`. */
export function cpuPerUnit(before: CpuTime, after: CpuTime, count: number): CpuTime {
  return Object.fromEntries(
    Object.entries(after).map(([role, t]) => [role, roundToTenth((t - (before[role] ?? 0)) / count)]),
  );
}

export function sumOf(time: CpuTime): number {
  return roundToTenth(Object.values(time).reduce((a, b) => a + b, 0));
}

/** As text: the sum in whole microseconds, and each role's share of it. */
export function shares(time: CpuTime): string {
  const parts = Object.entries(time).map(([role, us]) => `${role} ${Math.round(us)}`);
  return `${Math.round(sumOf(time))} (${parts.join(', ')})`;
}

function roundToTenth(value: number): number {
  return Math.round(value * 10) / 10;
}

interface Process {
  ticks: number;
  children: number[];
}

function readProcesses(): Map<number, Process> {
  const parents = new Map<number, number>();
  const processes = new Map<number, Process>();
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? readStat(Number(entry)) : undefined;
    if (!stat) continue;
    parents.set(Number(entry), stat.parent);
    processes.set(Number(entry), { ticks: stat.ticks, children: [] });
  }
  for (const [pid, parent] of parents) processes.get(parent)?.children.push(pid);
  return processes;
}

function readStat(pid: number): { parent: number; ticks: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined; // it ended after it was listed; its parent's figures include its time
  }
  // The name in parentheses may itself contain spaces and parentheses; the third field follows it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number) as [number, number, number, number];
  return { parent: Number(fields[1]), ticks: utime + stime + cutime + cstime };
}

/** The peak memory of the process, in bytes (proc(5), VmHWM). */
export function peakMemory(pid: number): number {
  return statusOf(pid, 'VmHWM');
}

/** The memory of the process now, in bytes (proc(5), VmRSS). */
export function memoryNow(pid: number): number {
  return statusOf(pid, 'VmRSS');
}

function statusOf(pid: number, name: 'VmHWM' | 'VmRSS'): number {
  const kb = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (!kb) throw new Error(`The kernel does not report ${name} of process ${pid}.`);
  return Number(kb) * BYTES_PER_KB;
}

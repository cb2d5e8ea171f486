/**
 * Who holds a lock file: a process of this machine or of another one.
 *
 * Guarantee: a process id alone is not trusted, because ids are reused: its start time is compared as well.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Holder {
  pid: number;
  host: string;
  /** When the process started, as text to compare; absent where this is unknown, and in locks of earlier versions. */
  started?: string | undefined;
}

/** This process. */
export async function ourselves(): Promise<Holder> {
  return { pid: process.pid, host: hostname(), started: await startedAt(process.pid) };
}

/** Whether it is, or was, a process of this machine. */
export function isHere({ host }: Holder): boolean {
  return host === hostname();
}

/** Whether the holder may still run. Of another machine nothing is known, so it may. */
export async function mayRun(holder: Holder): Promise<boolean> {
  const { pid, started } = holder;
  if (!isHere(holder)) return true;
  if (!isAlive(pid)) return false;
  const found = await startedAt(pid);
  return started === undefined || found === undefined || found === started;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Linux: the boot, and field 22 of /proc/PID/stat (proc(5)); elsewhere: ps. Undefined when neither can tell. */
async function startedAt(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') {
    const found = await run('ps', ['-p', String(pid), '-o', 'lstart='], { timeout: 5000 }).catch(() => undefined);
    return found?.stdout.trim() || undefined;
  }
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined);
  const [boot, stat] = await Promise.all([read('/proc/sys/kernel/random/boot_id'), read(`/proc/${pid}/stat`)]);
  // The name in parentheses may itself contain spaces and parentheses.
  const ticks = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return ticks === undefined ? undefined : `${boot?.trim() ?? ''} ${ticks}`;
}

import { execFile } from 'node:child_process';
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { EXIT, Failure } from '../terminal/failure.ts';

/**
 * Who holds a lock file: a process of this machine or of another one.
 *
 * Guarantee: a process id alone is not trusted, because ids are reused: its start time is compared as well.
 */

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

/**
 * Lets one command at a time change a file that several may change: a refresh token may be used only once, and using an
 * old one again ends the login.
 *
 * Guarantee: of all commands on this machine, one is inside `work`.
 * On crash: the next command takes over as soon as it sees that the process is gone; on a home folder that several
 * machines share, after STALE_MS.
 */

/** Longer than any command holds the lock. */
const STALE_MS = 60_000;
const PAUSE_MS = 50;

/**
 * Runs `work` while the lock is held.
 * @param guarded path of the file; the lock is a file next to it, created and removed here
 * @throws Failure when the folder cannot be written
 */
export async function withLock<T>(guarded: string, work: () => Promise<T>): Promise<T> {
  const path = `${guarded}.lock`;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(unwritable);
  while (!(await take(path))) {
    if (await isStale(path)) await rm(path, { force: true });
    else await sleep(PAUSE_MS);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const { host, pid, started = '' } = await ourselves();
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(`${host} ${pid} ${started}`).finally(() => file.close());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    return unwritable(error as Error);
  }
}

/** Its holder is gone, or has held it for too long to be still working. A lock released meanwhile is not stale. */
async function isStale(path: string): Promise<boolean> {
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const [host = '', pid, ...started] = text.split(' ');
    const holder = { pid: Number(pid), host, started: started.join(' ') || undefined };
    if (holder.pid > 0 && !(await mayRun(holder))) return true;
    return !(holder.pid > 0 && isHere(holder)) && Date.now() - mtimeMs > STALE_MS;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function unwritable(error: Error): never {
  throw new Failure(`The stored login cannot be written: ${error.message}.`, {
    exitCode: EXIT.usage,
    advice: 'Make the folder writable, or set MUSTER_TOKEN to the token.',
  });
}

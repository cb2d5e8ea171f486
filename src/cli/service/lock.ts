/**
 * A lock file beside a file that several commands may change: the stored login, the state of a pull.
 *
 * Guarantee: of all commands on this machine, one at a time has the lock, for as long as its process lives. A process id
 * alone is not trusted, because ids are reused: its start time is compared as well.
 * On crash: the next command sees that the process is gone, and takes the lock over at once. A lock of another machine
 * that shares the folder is taken over after `staleMs`, or never.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { wrongUsage } from '../terminal/failure.ts';

export interface Holder {
  pid: number;
  host: string;
  /** When the process started, as text to compare; absent where this is unknown, and in locks of earlier versions. */
  started?: string | undefined;
}

export interface Claim extends Holder {
  /** When the lock was taken. */
  since: string;
}

export interface Lock {
  /** Removes the lock, unless another command has taken it over. */
  release(): Promise<void>;
}

const run = promisify(execFile);
/** Longer than any command changes the stored login. */
const STALE_MS = 60_000;
const PAUSE_MS = 50;

/**
 * Runs `work` while this command alone may change the stored login: a refresh token may be used only once, and using an
 * old one again ends the login. Waits for its turn.
 * @param path of the file that holds stored logins; its folder is created
 * @throws Failure when the folder cannot be written
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = await waitForLock(path).catch((error: Error) => {
    throw wrongUsage(
      `The stored login cannot be written: ${error.message}.`,
      'Make the folder writable, or set MUSTER_TOKEN to the token.',
    );
  });
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function waitForLock(path: string): Promise<Lock> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (;;) {
    const { lock } = await takeLock(path, STALE_MS);
    if (lock) return lock;
    await sleep(PAUSE_MS);
  }
}

/**
 * Takes the lock if no other command has it.
 * @param guarded path of the file; its folder exists
 * @param staleMs age from which a lock of unknown or foreign holders counts as left behind; by default, never
 * @returns the lock, else who holds it, as far as the file says
 * @throws Error of the file system
 */
export async function takeLock(
  guarded: string,
  staleMs = Number.POSITIVE_INFINITY,
): Promise<{ lock?: Lock; holder?: Claim | undefined }> {
  const path = `${guarded}.lock`;
  const us: Claim = { ...(await ourselves()), since: new Date().toISOString() };
  const mine = JSON.stringify(us);
  const lock: Lock = {
    async release() {
      if ((await textOf(path)) === mine) await rm(path, { force: true });
    },
  };
  if (await created(path, mine)) return { lock };
  const found = await textOf(path);
  if (found !== undefined) {
    if (await isHeld(path, found, us, staleMs)) return { holder: claimOf(found) };
    await removeDead(path, found, us);
  }
  if (await created(path, mine)) return { lock };
  return { holder: claimOf(await textOf(path)) };
}

/** Creates the file; false if there is one. A link appears with its content, so nobody reads half a lock. */
async function created(path: string, text: string): Promise<boolean> {
  const fresh = `${path}.${randomUUID()}`;
  try {
    await writeFile(fresh, text, { mode: 0o600 });
    await link(fresh, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') throw error;
      // The file system has no links.
      return writeFile(path, text, { mode: 0o600, flag: 'wx' });
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(fresh, { force: true });
  }
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

function claimOf(text: string | undefined): Claim | undefined {
  try {
    const { pid, host, since, started } = JSON.parse(text ?? '') as Partial<Claim>;
    if (typeof pid !== 'number' || host === undefined || since === undefined) return undefined;
    return { pid, host, since, started };
  } catch {
    return undefined;
  }
}

/** Whether a lock counts. It does as long as its process runs; when that cannot be known, while it is recent. */
async function isHeld(path: string, text: string, us: Holder, staleMs: number): Promise<boolean> {
  const holder = claimOf(text);
  if (holder?.host === us.host) {
    // A lock of an earlier version with our own number is that of a process before us, as in a container.
    const isBeforeUs = holder.pid === us.pid && holder.started === undefined && us.started !== undefined;
    return !isBeforeUs && (await mayRun(holder));
  }
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs <= staleMs;
}

/** Several may find the same dead lock: the one that creates a file beside it removes it, if it is still the same. */
async function removeDead(path: string, dead: string, us: Claim): Promise<void> {
  const removal = `${path}.dead`;
  if (!(await created(removal, JSON.stringify(us)))) {
    const other = await textOf(removal);
    if (other !== undefined && !(await isHeld(removal, other, us, STALE_MS))) await rm(removal, { force: true });
    return;
  }
  try {
    if ((await textOf(path)) === dead) await rm(path, { force: true });
  } finally {
    await rm(removal, { force: true });
  }
}

/** This process. */
export async function ourselves(): Promise<Holder> {
  return { pid: process.pid, host: hostname(), started: await startedAt(process.pid) };
}

/** Whether the holder may still run. Of another machine nothing is known, so it may. */
export async function mayRun({ pid, host, started }: Holder): Promise<boolean> {
  if (host !== hostname()) return true;
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
  const [boot, status] = await Promise.all([read('/proc/sys/kernel/random/boot_id'), read(`/proc/${pid}/stat`)]);
  // The name in parentheses may itself contain spaces and parentheses.
  const ticks = status?.slice(status.lastIndexOf(')') + 2).split(' ')[19];
  return ticks === undefined ? undefined : `${boot?.trim() ?? ''} ${ticks}`;
}

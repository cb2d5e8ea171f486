/**
 * Lets one command at a time change a file that several may change: a refresh token may be used only once, and using an
 * old one again ends the login.
 *
 * Guarantee: of all commands on this machine, one is inside `work`.
 * On crash: the next command takes over as soon as it sees that the process is gone; on a home folder that several
 * machines share, after STALE_MS.
 */
import { mkdir, open, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, Failure } from '../terminal/failure.ts';
import { isHere, mayRun, ourselves } from './holder.ts';

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

/**
 * The postmaster that runs on a cluster, by its file postmaster.pid, and how it is stopped.
 *
 * Guarantee: only a process that is verified to be this cluster's postmaster gets a signal. If we die here the next
 * start does the same again.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isPostmasterOf, waitUntilGone } from './process.ts';

/** Its lines: process id, data directory, start, port, socket directory, address, shared memory, status. */
export async function postmasterFile(clusterDir: string): Promise<string[]> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

/** Fast shutdown: sessions are ended, everything is written. Harder and harder when that takes too long. */
export async function stopPostmaster(pid: number): Promise<void> {
  for (const [signal, ms] of [
    ['SIGINT', 60_000],
    ['SIGQUIT', 10_000],
    ['SIGKILL', 10_000],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw error;
    }
    if (await waitUntilGone(pid, ms)) return;
  }
}

/**
 * Stops the postmaster that a run killed with SIGKILL left behind. The caller holds the folder's lock.
 * @returns its process id when there was one
 */
export async function stopOrphan(clusterDir: string): Promise<number | undefined> {
  const lines = await postmasterFile(clusterDir);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  if (await isPostmasterOf(pid, clusterDir)) {
    await stopPostmaster(pid);
    return pid;
  }
  // PostgreSQL refuses to start when another process has that number by now, but not when it is the parent's. The
  // rest of the file stays: by it PostgreSQL sees whether old backends still run.
  await writeFile(join(clusterDir, 'postmaster.pid'), [process.pid, ...lines.slice(1)].join('\n'));
  return undefined;
}

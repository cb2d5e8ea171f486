/**
 * Finds the postmaster of a cluster by its file postmaster.pid, and stops it.
 *
 * Guarantee: only a process that is verified to be this cluster's postmaster gets a signal.
 * On crash: the next start does the same again.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isPostmasterOf, waitUntilGone } from './process.ts';

/** Its lines: process id, data directory, start time, port, socket directory, address, shared memory, status. */
export async function postmasterFile(clusterDir: string): Promise<string[]> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

/** Fast shutdown: sessions end, and everything is written. Escalates to SIGQUIT and SIGKILL if that takes too long. */
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
 * @returns its process id, if there was one
 */
export async function stopOrphan(clusterDir: string): Promise<number | undefined> {
  const lines = await postmasterFile(clusterDir);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  if (await isPostmasterOf(pid, clusterDir)) {
    await stopPostmaster(pid);
    return pid;
  }
  // PostgreSQL refuses to start when another process now has that id, unless it is the id of its parent. The rest of
  // the file stays: PostgreSQL uses it to detect whether old backends still run.
  await writeFile(join(clusterDir, 'postmaster.pid'), [process.pid, ...lines.slice(1)].join('\n'));
  return undefined;
}

/**
 * Checks on processes that another run may have left behind.
 *
 * Guarantee: a process id alone is never trusted, because ids are reused; the start time or working directory decides.
 */
import { execFile } from 'node:child_process';
import { readFile, readlink, realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * When the process started, as text to compare; undefined when there is no such process, or only a zombie.
 * Linux: proc(5), field 22 of /proc/PID/stat; elsewhere: ps.
 */
export async function startedAt(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'lstart=');
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name in parentheses may itself contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && !/[ZX]/.test(fields[0] ?? 'X') ? fields[19] : undefined;
}

/** Whether `pid` is a running postmaster of exactly this cluster. */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (!(await startedAt(pid))) return false;
  if (process.platform !== 'linux') return ((await ps(pid, 'args=')) ?? '').includes(clusterDir);
  // A postmaster's working directory is its data directory.
  const [cwd, dir] = await Promise.all([readlink(`/proc/${pid}/cwd`).catch(() => ''), realpath(clusterDir)]);
  return cwd === dir;
}

/** Waits at most `timeoutMs` until the process is gone. @returns whether it is gone */
export async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const end = Date.now() + timeoutMs;
  while (await startedAt(pid)) {
    if (Date.now() > end) return false;
    await sleep(20);
  }
  return true;
}

async function ps(pid: number, column: string): Promise<string | undefined> {
  const found = await run('ps', ['-p', String(pid), '-o', 'stat=', '-o', column]).catch(() => undefined);
  const line = found?.stdout.trim();
  return line && !line.startsWith('Z') ? line.replace(/^\S+\s+/, '') : undefined;
}

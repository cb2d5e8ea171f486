/**
 * One process at a time in a data folder.
 *
 * Guarantee: while the file `lock` names a living process, nobody else gets the folder. If we die here the file stays,
 * and the next one takes it over, because the process it names is gone (or is another one with the same number).
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '../start-error.ts';
import { startedAt } from './embedded-process.ts';

export interface FolderLock {
  release(): Promise<void>;
}

/**
 * Takes the folder.
 * @throws StartError naming the process that has it
 */
export async function lockFolder(dir: string): Promise<FolderLock> {
  const path = join(dir, 'lock');
  const mine = `${process.pid} ${await startedAt(process.pid)} ${randomBytes(6).toString('hex')}\n`;
  const draft = `${path}.${mine.slice(-13, -1)}`;
  // Written aside and linked, so that nobody ever reads half a lock.
  await writeFile(draft, mine, { mode: 0o644 });
  try {
    while (!(await linked(draft, path))) await removeStale(dir, path, draft);
  } finally {
    await rm(draft, { force: true });
  }
  return {
    async release() {
      if ((await content(path)) === mine) await rm(path, { force: true });
    },
  };
}

async function linked(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function removeStale(dir: string, path: string, draft: string): Promise<void> {
  const found = await content(path);
  if (found === undefined) return;
  const [pid, started] = found.trim().split(' ');
  if ((await startedAt(Number(pid))) === started) throw inUse(dir, pid);
  const aside = `${draft}.stale`;
  await rename(path, aside).catch(() => {});
  const moved = await content(aside);
  if (moved !== undefined && moved !== found) {
    // Somebody took the folder over between our reading and our renaming: give the lock back to them.
    await linked(aside, path);
    await rm(aside, { force: true });
    throw inUse(dir, moved.split(' ')[0]);
  }
  await rm(aside, { force: true });
}

async function content(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}

function inUse(dir: string, pid: string | undefined): StartError {
  return new StartError(
    `The data folder ${dir} is in use by process ${pid}: stop that one, or set DATA_DIR to another.`,
  );
}

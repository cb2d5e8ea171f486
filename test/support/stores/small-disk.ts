/**
 * A filesystem in memory, which can be made full.
 *
 * Guarantee: it takes only the memory of its files, also while it is full.
 *
 * On crash: it stays mounted until the machine restarts; `umount` ends it.
 */

import { execFile } from 'node:child_process';
import { mkdir, rmdir, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { required } from '../runner/programs.ts';
import { folderIn } from './cluster-cache.ts';

const run = promisify(execFile);
const MODE = 'mode=0711';

export interface SmallDisk {
  /** An empty folder on it. */
  dir: string;
  /** Leaves no byte free. What is deleted from now on becomes free again. */
  fill(): Promise<void>;
  /** There is space again. */
  free(): Promise<void>;
  /** Everything on it is lost. */
  unmount(): Promise<void>;
}

/**
 * Mounts it at `dir`, a new folder that every user may enter.
 * @returns undefined when this process may not mount
 */
export async function mountSmallDisk(dir: string, megabytes: number): Promise<SmallDisk | undefined> {
  await mkdir(dir, { recursive: true });
  const size = `size=${megabytes}m`;
  const mounted = run('mount', ['-t', 'tmpfs', '-o', `${size},${MODE}`, 'muster', dir]);
  if (!(await mounted.catch(() => undefined))) {
    await rmdir(dir);
    return undefined;
  }
  const data = join(dir, 'data');
  await mkdir(data);
  return {
    dir: data,
    fill: () => shrink(dir),
    free: () => remount(dir, size),
    async unmount() {
      await run('umount', [dir]);
      await rmdir(dir);
    },
  };
}

/**
 * A new one in the folder for temporary files. Skips the test where this process may not mount.
 * @throws Error when TEST_REQUIRE names `mount`
 */
export async function smallDiskOrSkip(t: TestContext, megabytes: number): Promise<SmallDisk | undefined> {
  const disk = await mountSmallDisk(await folderIn(tmpdir()), megabytes);
  if (disk) return disk;
  const reason = 'this process may not mount a filesystem (it needs root)';
  if (required().includes('mount')) throw new Error(reason);
  t.skip(reason);
  return undefined;
}

const ATTEMPTS = 100;

/** Makes it as small as its files. The system refuses less than that, so files that grow meanwhile need another try. */
async function shrink(dir: string): Promise<void> {
  for (let left = ATTEMPTS; ; left--) {
    const { blocks, bfree, bsize } = await statfs(dir);
    try {
      return await remount(dir, `size=${Math.max(1, blocks - bfree) * bsize}`);
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

async function remount(dir: string, size: string): Promise<void> {
  await run('mount', ['-o', `remount,${size},${MODE}`, dir]);
}

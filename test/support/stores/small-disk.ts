/**
 * A filesystem of some megabytes in memory, which can be filled and emptied.
 *
 * Guarantee: `mountSmallDisk` tells a machine on which this process may not mount from every other failure.
 *
 * On crash: the filesystem stays mounted until the machine restarts, with the name of the dead process in its path;
 * `umount` ends it.
 */
import { execFile } from 'node:child_process';
import { mkdir, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { required } from '../runner/programs.ts';
import { folderIn } from './cluster-cache.ts';

const run = promisify(execFile);
const PIECE = Buffer.alloc(2 ** 20);
/** After whole pieces, the rest is filled with these. */
const CRUMB = PIECE.subarray(0, 4096);

export interface SmallDisk {
  /** An empty folder on it. */
  dir: string;
  /** Leaves no byte free. What is deleted meanwhile becomes free again. */
  fill(): Promise<void>;
  /** Frees what `fill` took. */
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
  const options = `size=${megabytes}m,mode=0711`;
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', options, 'muster', dir]).then(
    () => true,
    () => false,
  );
  if (!isMounted) {
    await rmdir(dir);
    return undefined;
  }
  const ballast = join(dir, 'ballast');
  const data = join(dir, 'data');
  await mkdir(data);
  return {
    dir: data,
    fill: () => fillUp(ballast),
    free: () => rm(ballast, { force: true }),
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

async function fillUp(path: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    for (const piece of [PIECE, CRUMB]) while (await append(file, piece));
  } finally {
    await file.close();
  }
}

/** @returns whether there was space */
async function append(file: Awaited<ReturnType<typeof open>>, piece: Buffer): Promise<boolean> {
  try {
    return (await file.write(piece)).bytesWritten === piece.length;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}

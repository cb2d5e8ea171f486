/**
 * Writes a file completely or not at all: to a temporary file in the same folder, which only the owner can read and
 * which is renamed at the end.
 *
 * Guarantee: a failure leaves the old file as it was, and no temporary file.
 * On crash: the temporary file, `….part`, remains.
 */
import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Failure, wrongUsage } from './failure.ts';

/**
 * Returns the number of bytes written.
 * @param source read as fast as the disk accepts it
 * @throws Failure when the file cannot be written; whatever `source` throws
 */
export async function saveTo(path: string, source: Readable, signal: AbortSignal): Promise<number> {
  const place = await placeOf(path);
  const target = place.isFile ? `${place.path}.${process.pid}.part` : place.path;
  const file = createWriteStream(target, place.isFile ? { flags: 'wx', mode: 0o600 } : {});
  const opened = new Promise<void>((resolve, reject) => file.once('open', () => resolve()).once('error', reject));
  try {
    await opened.catch((error: Error) => {
      source.destroy();
      throw unwritable(path, error.message);
    });
    await pipeline(source, file, { signal });
    if (place.isFile) await rename(target, place.path);
    return file.bytesWritten;
  } catch (error) {
    if (place.isFile) await rm(target, { force: true });
    throw error;
  }
}

/** Follows links. A device or a pipe is written to directly, not replaced. */
async function placeOf(path: string): Promise<{ path: string; isFile: boolean }> {
  const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw unwritable(path, error.message);
  });
  if (real === undefined) return { path, isFile: true };
  const found = await stat(real);
  if (found.isDirectory()) throw unwritable(path, 'it is a folder');
  return { path: real, isFile: found.isFile() };
}

function unwritable(path: string, why: string): Failure {
  return wrongUsage(`${path} cannot be written: ${why}.`);
}

/**
 * An export file on this machine.
 *
 * Standard input can be read only once, so it is first written to a temporary file, which is unlinked before the first
 * byte is written: it disappears with the process, however that ends.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { CHUNK_BYTES, type ExportFile, type FileOptions, inspect, placed } from './export-file.ts';

/** The name of standard input. */
export const STDIN = '/dev/stdin';

/** @throws FileError when it cannot be read */
export async function openExport(
  name: string,
  options: FileOptions = {},
  stdin: Readable = process.stdin,
): Promise<ExportFile> {
  let file: FileHandle | undefined;
  try {
    const opened = name === STDIN ? await spooled(stdin) : await open(name);
    file = opened;
    const { size } = await opened.stat();
    return await inspect({ name, size, read: () => bytesOf(opened), close: () => opened.close() }, options);
  } catch (error) {
    await file?.close();
    throw placed(name, error);
  }
}

/** The file from its beginning, independent of other readers' positions. */
async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function spooled(stdin: Readable): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const path = join(folder, 'stdin');
  const file = await open(path, 'wx+', 0o600);
  await rm(folder, { recursive: true });
  await file.writeFile(stdin);
  return file;
}

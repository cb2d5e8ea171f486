/**
 * Records in an unlinked temporary file that only its owner can read and that disappears with the process.
 *
 * Records that lie near the one before are read together: users and their hashes often come in the same order, or in
 * the opposite one. Any other record costs one small read.
 */
import { readSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FLUSH_BYTES = 2 ** 20;
/** Of the window that is read at once. A jump over less than this much counts as near. */
const WINDOW_BYTES = 2 ** 16;
/** The most bytes of one UTF-16 code unit in UTF-8. */
const MOST_BYTES = 3;

export interface Spool {
  /** Where the next record begins. */
  readonly size: number;
  /** Returns how many bytes it has. */
  add(text: string): Promise<number>;
  /** Call it once, before the first `read`. */
  finish(): Promise<void>;
  read(offset: number, length: number): string;
  close(): Promise<void>;
}

export async function openSpool(): Promise<Spool> {
  const file = await namelessFile();
  let size = 0;
  let pending: Buffer = Buffer.allocUnsafe(FLUSH_BYTES);
  let filled = 0;
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;
  let last = 0;

  async function flush(): Promise<void> {
    await file.appendFile(pending.subarray(0, filled));
    filled = 0;
  }

  function take(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    // Mostly served from the system's cache: a promise would cost more than the read.
    return bytes.subarray(0, readSync(file.fd, bytes, 0, length, offset));
  }

  return {
    get size() {
      return size;
    },
    async add(text) {
      const most = text.length * MOST_BYTES;
      if (filled + most > pending.length) await flush();
      if (most > pending.length) pending = Buffer.allocUnsafe(most);
      const written = pending.write(text, filled);
      filled += written;
      size += written;
      return written;
    },
    async finish() {
      await flush();
      pending = Buffer.alloc(0);
    },
    read(offset, length) {
      const isNear = Math.abs(offset - last) < WINDOW_BYTES && length <= WINDOW_BYTES / 2;
      const isForwards = offset >= last;
      last = offset;
      if (offset < windowAt || offset + length > windowAt + window.length) {
        if (!isNear) return take(offset, length).toString('utf8');
        windowAt = isForwards ? offset : Math.max(0, offset + length - WINDOW_BYTES);
        window = take(windowAt, WINDOW_BYTES);
      }
      return window.toString('utf8', offset - windowAt, offset - windowAt + length);
    },
    close: () => file.close(),
  };
}

async function namelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const file = await open(join(folder, 'hashes'), 'wx+', 0o600);
  await rm(folder, { recursive: true });
  return file;
}

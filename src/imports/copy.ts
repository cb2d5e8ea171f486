/**
 * Writes rows into import_items by COPY, in chunks, while the next chunk is being read.
 *
 * Guarantee: at most one chunk is on its way and one is filling, so memory is bounded and a slow client holds no
 * connection. If we die here the rows belong to an import that is still `receiving`, which nobody sees and the sweep removes.
 */
import { finished } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Pool } from '../db/pool.ts';
import { COLUMNS } from './items.ts';

const CHUNK_BYTES = 2 * 2 ** 20;
/** A character of JavaScript takes at most three bytes of UTF-8. */
const BYTES_PER_CHAR = 3;
/** A trickle is written out this often, which also tells the sweep that the upload is alive. */
const CHUNK_AGE_MS = 10_000;

export const COPY_SQL = `copy import_items (${COLUMNS.join(', ')}) from stdin`;

export interface CopyWriter {
  /** Takes lines of COPY's text format; waits while two chunks are under way. */
  write(lines: string): Promise<void>;
  /** Everything is in the database when this returns. */
  flush(): Promise<void>;
}

/** @param beforeChunk runs before each chunk is written: creates the import's row, or touches it */
export function openCopyWriter(pool: Pool, beforeChunk: () => Promise<void>): CopyWriter {
  // Two buffers for the whole upload, one filling and one on its way: a chunk leaves no garbage.
  let filling = Buffer.allocUnsafe(0);
  let spare = Buffer.allocUnsafe(0);
  let bytes = 0;
  let since = Date.now();
  let running: Promise<void> = Promise.resolve();

  async function next(): Promise<void> {
    await running;
    if (bytes === 0) return;
    const chunk = filling.subarray(0, bytes);
    [filling, spare] = [spare, filling];
    bytes = 0;
    since = Date.now();
    running = beforeChunk().then(() => copyChunk(pool, chunk));
    running.catch(() => {}); // met by the next `await running`
  }

  return {
    async write(lines) {
      const room = lines.length * BYTES_PER_CHAR;
      if (bytes + room > filling.length && bytes > 0) await next();
      if (room > filling.length) filling = Buffer.allocUnsafe(Math.max(room, CHUNK_BYTES));
      bytes += filling.write(lines, bytes);
      if (Date.now() - since > CHUNK_AGE_MS) await next();
    },
    async flush() {
      await next();
      await running;
    },
  };
}

async function copyChunk(pool: Pool, chunk: Buffer): Promise<void> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    const stream = client.query(copyFrom(COPY_SQL));
    stream.end(chunk);
    await finished(stream);
  } catch (error) {
    broken = error as Error;
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Writes rows into import_items by COPY, while the next ones are being read.
 *
 * Each run of users goes out at once, in pieces that the socket takes whole: PostgreSQL works on one piece while the next
 * is parsed. (Handing over megabytes at a time leaves it waiting, as Node.js sends the rest only between two pieces of
 * the body.) A COPY is ended after some megabytes, some seconds, or when the client pauses, so that no transaction and
 * no connection is held for long.
 * A COPY whose connection breaks, or is silent for longer than a statement may take, fails the write or the flush that meets it.
 * On crash: the rows belong to an import that is still `receiving`, which nobody sees and the sweep removes.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams';
import { STATEMENT_MS } from '../../db/limits.ts';
import type { Pool } from '../../db/pool.ts';
import { COLUMNS } from '../items.ts';

const MAX_BYTES = 16 * 2 ** 20;
/** A client that sends nothing for this long keeps no COPY open. */
const PAUSE_MS = 1000;

export const COPY_SQL = `copy import_items (${COLUMNS.join(', ')}) from stdin`;

export interface CopyWriter {
  /**
   * Takes whole rows of COPY's text format; waits while PostgreSQL is behind.
   * @returns whether their bytes are on their way, so that the buffer may be used again
   */
  write(rows: Buffer): Promise<boolean>;
  /** Everything is in the database when this returns. When it throws nothing is under way any more. */
  flush(): Promise<void>;
}

interface Copy {
  stream: CopyStreamQuery;
  /** Of the connection. */
  socket: Writable;
  /** The rows are committed, or why they are not. */
  done: Promise<void>;
  /** Why nothing more can be written: the stream would take it all the same, and then know no connection. */
  fault?: unknown;
  bytes: number;
  since: number;
}

/**
 * @param beforeCopy runs before each COPY: creates the import's row, or touches it
 * @param statementMs how long PostgreSQL may take for a statement; a COPY is fed for a third of it at most
 */
export function openCopyWriter(
  pool: Pool,
  beforeCopy: () => Promise<void>,
  statementMs: number = STATEMENT_MS,
): CopyWriter {
  const maxAgeMs = statementMs / 3;
  let current: Copy | undefined;
  /** All before it, which may still be committing. */
  let ending: Promise<void> = Promise.resolve();
  /** The same without the last one: the next begins while that commits. */
  let ended = ending;
  let pause: NodeJS.Timeout | undefined;

  async function begin(): Promise<Copy> {
    await beforeCopy();
    return startCopy(pool);
  }

  function end(): void {
    clearTimeout(pause);
    if (!current) return;
    if (!current.fault) current.stream.end();
    ended = ending;
    ending = allOver([ending, current.done]);
    ending.catch(() => {}); // met by the next write or flush
    current = undefined;
  }

  return {
    async write(rows) {
      clearTimeout(pause);
      if (!current) {
        await ended;
        current = await begin();
      }
      const copy = current;
      if (copy.fault) throw copy.fault;
      copy.bytes += rows.length;
      const isTaken = together(copy.socket, () => copy.stream.write(rows));
      if (!isTaken) await Promise.race([once(copy.stream, 'drain'), copy.done]);
      if (copy.bytes > MAX_BYTES || Date.now() - copy.since > maxAgeMs) end();
      else pause = setTimeout(end, Math.min(PAUSE_MS, maxAgeMs));
      return copy.stream.writableLength === 0 && copy.socket.writableLength === 0;
    },
    async flush() {
      end();
      await ending;
    },
  };
}

/** Throws what the first of them threw, when all have come to their end. */
async function allOver(copies: Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(copies)) if (one.status === 'rejected') throw one.reason;
}

async function startCopy(pool: Pool): Promise<Copy> {
  const client = await pool.connect();
  const stream = client.query(copyFrom(COPY_SQL));
  const done = finished(stream).then(
    () => client.release(),
    (error) => {
      client.release(error);
      throw error;
    },
  );
  done.catch(() => {}); // met by whoever writes next
  const { stream: socket } = (client as unknown as { connection: { stream: Writable } }).connection;
  const copy: Copy = { stream, socket, done, bytes: 0, since: Date.now() };
  stream.on('error', (error) => {
    copy.fault ??= error;
  });
  return copy;
}

/** What is written goes as one: a piece's header alone would wake PostgreSQL for five bytes. */
function together<T>(socket: Writable, write: () => T): T {
  socket.cork();
  try {
    return write();
  } finally {
    socket.uncork();
  }
}

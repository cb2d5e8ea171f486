/**
 * Writes rows into import_items by COPY, while the next ones are being parsed.
 *
 * Each run of users is sent at once, in pieces that fit the socket's buffer: PostgreSQL processes one piece while the
 * next is parsed. (Writing megabytes at a time would leave PostgreSQL waiting, as Node.js sends the rest only between
 * two chunks of the body.) A COPY ends after some megabytes, after some seconds, or when the client pauses, so that no
 * transaction and no connection is held for long. If the connection of a COPY breaks, or is silent for longer than a
 * statement may take, the next write or flush fails.
 * On crash: the rows belong to an import in state `receiving`, which is invisible and which the sweep removes.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type CopyStreamQuery, from as copyFrom } from 'pg-copy-streams';
import { STATEMENT_MS, socketOf } from '../../platform/db/client.ts';
import type { Pool } from '../../platform/db/pool.ts';
import { openSpan } from '../../platform/telemetry.ts';
import { COLUMNS } from '../entries/item.ts';

/** A COPY ends after this many bytes, and the next one begins. */
const MAX_COPY_BYTES = 16 * 2 ** 20;
/** A COPY ends when the client has sent nothing for this long. */
const PAUSE_MS = 200;

export const COPY_SQL = `copy import_items (${COLUMNS.join(', ')}) from stdin`;

export interface CopyWriter {
  /** Whether a COPY is in progress, so that rows cost no new one. */
  readonly isOpen: boolean;
  /**
   * Takes whole rows in COPY's text format; waits while PostgreSQL is behind.
   * @returns whether the bytes have been sent, so that the buffer may be reused
   */
  write(rows: Buffer): Promise<boolean>;
  /** When this returns, everything is committed. When it throws, no COPY is in progress any more. */
  flush(): Promise<void>;
}

interface Copy {
  stream: CopyStreamQuery;
  /** The socket of the connection. */
  socket: Writable;
  /** Resolves when the rows are committed; rejects with the reason when they are not. */
  done: Promise<void>;
  /** Why nothing more can be written. The stream would still accept rows, although its connection is gone. */
  fault?: unknown;
  bytes: number;
  since: number;
}

/**
 * @param beforeCopy runs before each COPY: creates the import's row, or touches it
 * @param statementMs how long a statement may take in PostgreSQL; a COPY is open for a third of it at most
 */
export function openCopyWriter(
  pool: Pool,
  beforeCopy: () => Promise<void>,
  statementMs: number = STATEMENT_MS,
): CopyWriter {
  const maxAgeMs = statementMs / 3;
  let current: Copy | undefined;
  /** Settles when every COPY before the current one is committed or has failed. */
  let ending: Promise<void> = Promise.resolve();
  /** `ending` without the most recent COPY, so that the next one can begin while that one commits. */
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
    ending.catch(() => {}); // the next write or flush reports the error
    current = undefined;
  }

  return {
    get isOpen() {
      return current !== undefined;
    },
    async write(rows) {
      clearTimeout(pause);
      if (!current) {
        await ended;
        current = await begin();
      }
      const copy = current;
      if (copy.fault) throw copy.fault;
      copy.bytes += rows.length;
      const isTaken = corked(copy.socket, () => copy.stream.write(rows));
      if (!isTaken) await Promise.race([once(copy.stream, 'drain'), copy.done]);
      if (copy.bytes > MAX_COPY_BYTES || Date.now() - copy.since > maxAgeMs) end();
      else pause = setTimeout(end, Math.min(PAUSE_MS, maxAgeMs));
      return copy.stream.writableLength === 0 && copy.socket.writableLength === 0;
    },
    async flush() {
      end();
      await ending;
    },
  };
}

/** Waits until all are committed or have failed; then throws the error of the first that failed. */
async function allOver(copies: Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(copies)) if (one.status === 'rejected') throw one.reason;
}

async function startCopy(pool: Pool): Promise<Copy> {
  const span = openSpan('import.copy');
  const client = await pool.connect().catch((error) => {
    span?.end({}, error);
    throw error;
  });
  const stream = client.query(copyFrom(COPY_SQL));
  const done = finished(stream).then(
    () => {
      client.release();
      span?.end({ 'muster.bytes': copy.bytes });
    },
    (error) => {
      client.release(error);
      span?.end({}, error);
      throw error;
    },
  );
  done.catch(() => {}); // the next write or flush reports the error
  const socket = socketOf(client);
  const copy: Copy = { stream, socket, done, bytes: 0, since: Date.now() };
  stream.on('error', (error) => {
    copy.fault ??= error;
  });
  return copy;
}

/** Sends what `write` writes as one packet: the header of a piece alone would wake PostgreSQL for five bytes. */
function corked<T>(socket: Writable, write: () => T): T {
  socket.cork();
  try {
    return write();
  } finally {
    socket.uncork();
  }
}

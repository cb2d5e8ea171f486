/**
 * Wakes requests that wait for the end of an import, in every process, by PostgreSQL's LISTEN/NOTIFY.
 *
 * Guarantee: a wake-up may be late or lost (with a connection), but never gives a wrong answer: the waiting request
 * reads the state from the database after each wake-up, and at least every POLL_MS.
 */
import type pg from 'pg';
import { SERVER_KEEP_ALIVE } from '../../db/limits.ts';
import { prepareSession } from '../../db/session.ts';
import { TimedClient } from '../../db/timed-client.ts';
import { withTimeout } from '../../timeout.ts';

const CHANNEL = 'muster_import';
const POLL_MS = 500;
const RECONNECT_MS = 1000;
/** A query at this interval detects a server that disappeared without closing the connection. */
const HEARTBEAT_MS = 15_000;
const ANSWER_MS = 5000;
const CLOSE_MS = 1000;

export interface ImportSignal {
  /** Resolves at the next notification about the import, or after `ms` or POLL_MS, whichever is first. */
  next(importId: string, ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens one connection that listens, and opens it again whenever it breaks. */
export function openImportSignal(databaseUrl: string): ImportSignal {
  const waiting = new Map<string, Set<() => void>>();
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;

  function wake(importId: string): void {
    for (const resolve of waiting.get(importId) ?? []) resolve();
  }

  async function connect(): Promise<void> {
    const c = new TimedClient({
      connectionString: databaseUrl,
      application_name: 'muster-signal',
      statementMs: ANSWER_MS,
    });
    c.on('notification', (n) => wake(n.payload ?? ''));
    c.on('error', () => {}); // 'end' follows
    c.on('end', reconnectLater);
    client = c;
    await c.connect();
    await prepareSession(SERVER_KEEP_ALIVE)(c);
    await c.query(`listen ${CHANNEL}`);
    const heartbeat = setInterval(() => c.query('select 1').catch(() => {}), HEARTBEAT_MS); // 'end' follows
    heartbeat.unref();
    c.once('end', () => clearInterval(heartbeat));
  }

  function reconnectLater(): void {
    if (closed || timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      connect().catch(reconnectLater);
    }, RECONNECT_MS);
    timer.unref();
  }

  connect().catch(reconnectLater);

  return {
    next(importId, ms) {
      return new Promise((resolve) => {
        const all = waiting.get(importId) ?? new Set();
        waiting.set(importId, all);
        const done = () => {
          clearTimeout(limit);
          all.delete(done);
          if (all.size === 0) waiting.delete(importId);
          resolve();
        };
        const limit = setTimeout(done, Math.min(ms, POLL_MS));
        all.add(done);
      });
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      if (!client) return;
      await withTimeout(client.end(), CLOSE_MS, 'PostgreSQL').catch(() => {}); // it may be broken already
    },
  };
}

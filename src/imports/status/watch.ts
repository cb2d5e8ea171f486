/**
 * Tells requests that an import has changed, in two ways that do not replace each other:
 *
 * `ImportSignal` wakes a request at once when an import has ended or an action was taken, in every process, by
 * PostgreSQL's LISTEN/NOTIFY. It reads nothing, so it also serves imports of one user, which no list shows, and costs
 * a waiting request no statement before the end.
 *
 * `ProgressWatch` reports the progress in between, of which no notification tells, as batches commit thousands of
 * times a minute. It reads all imports that are watched in this process together, so the load on PostgreSQL depends
 * on the number of imports, not on the number of watchers.
 *
 * Guarantee: a wake-up may be late or lost (with a connection), but never gives a wrong answer: the waiting request
 * reads the state from the database after each wake-up, and at least every POLL_MS. While PostgreSQL is unavailable
 * nothing is reported, and the watchers continue when it is back. Thousands of watchers of one import are told in
 * parts, and other requests are answered between two parts.
 */
import { setImmediate } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { ImportResult } from '../../contract/import-types.ts';
import {
  prepareSession,
  SERVER_KEEP_ALIVE,
  STATEMENT_MS,
  sessionLimits,
  TimedClient,
} from '../../platform/db/client.ts';
import type { Pool } from '../../platform/db/pool.ts';
import { loggable } from '../../platform/logger.ts';
import { withTimeout } from '../../platform/timeouts.ts';
import { readAllProgress } from './progress.ts';

/** The time between the beginnings of two readings. */
const INTERVAL_MS = 250;
/** A reading that takes long is followed by a pause of this many times its duration. */
const REST = 3;
/** Watchers that are told in one turn of the event loop. */
const TOLD_AT_ONCE = 50;

const CHANNEL = 'muster_import';
const POLL_MS = 500;
const RECONNECT_MS = 1000;
/** A query at this interval detects a server that disappeared without closing the connection. */
const HEARTBEAT_MS = 15_000;
const ANSWER_MS = 5000;
const CLOSE_MS = 1000;

/** An import as JSON, made once for all watchers. */
export interface Seen {
  progress: ImportResult;
  json: string;
  /** Differs after each change. */
  fingerprint: string;
}

/** Called at once, then on each change; with undefined when the import no longer exists. */
type Watcher = (seen: Seen | undefined) => void;

export interface ProgressWatch {
  /**
   * @param current the import as it was just read
   * @returns a function that ends the watching
   */
  watch(current: ImportResult, watcher: Watcher): () => void;
}

interface Watched {
  watchers: Set<Watcher>;
  last: Seen;
}

export function openProgressWatch(pool: Pool, logger: Logger): ProgressWatch {
  const watched = new Map<string, Watched>();
  let isReading = false;

  async function readOn(): Promise<void> {
    isReading = true;
    while (watched.size > 0) {
      const began = performance.now();
      await readOnce().catch((error) => logger.warn({ err: loggable(error) }, 'imports could not be read for streams'));
      const took = performance.now() - began;
      await new Promise((resolve) => setTimeout(resolve, Math.max(INTERVAL_MS - took, REST * took)));
    }
    isReading = false;
  }

  async function readOnce(): Promise<void> {
    const ids = [...watched.keys()];
    const found = new Map((await readAllProgress(pool, ids)).map((progress) => [progress.importId, progress]));
    for (const id of ids) await report(id, found.get(id));
  }

  async function report(id: string, progress: ImportResult | undefined): Promise<void> {
    const one = watched.get(id);
    if (!one) return;
    const seen = progress && see(progress);
    if (seen?.fingerprint === one.last.fingerprint) return;
    if (seen) one.last = seen;
    else watched.delete(id);
    const told = [...one.watchers];
    for (let from = 0; from < told.length; from += TOLD_AT_ONCE) {
      if (from > 0) await setImmediate();
      for (const watcher of told.slice(from, from + TOLD_AT_ONCE)) if (one.watchers.has(watcher)) watcher(seen);
    }
  }

  return {
    watch(current, watcher) {
      const id = current.importId;
      const one = watched.get(id) ?? { watchers: new Set(), last: see(current) };
      watched.set(id, one);
      one.watchers.add(watcher);
      watcher(one.last);
      if (!isReading) void readOn();
      return () => {
        one.watchers.delete(watcher);
        if (one.watchers.size === 0 && watched.get(id) === one) watched.delete(id);
      };
    },
  };
}

function see(progress: ImportResult): Seen {
  return { progress, json: JSON.stringify(progress), fingerprint: fingerprintOf(progress) };
}

/** What counts as a change. Rate, eta and (while paused) deadline are left out: they change with the clock alone. */
function fingerprintOf({ usersPerSecond: _rate, eta: _eta, deadline: _deadline, ...rest }: ImportResult): string {
  return JSON.stringify(rest);
}

/** Closes the connection if it cannot listen, as another one is opened then. */
async function listenWith(client: pg.Client): Promise<void> {
  try {
    await prepareSession({ ...SERVER_KEEP_ALIVE, ...sessionLimits(STATEMENT_MS) })(client);
    await client.query(`listen ${CHANNEL}`);
  } catch (error) {
    client.end().catch(() => {}); // 'end' follows
    throw error;
  }
}

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
    await listenWith(c);
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

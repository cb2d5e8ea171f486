/**
 * Tells requests of changes of imports. All imports that are watched in this process are read together, so the load on
 * PostgreSQL depends on the number of imports, not on the number of watchers.
 *
 * Guarantee: while PostgreSQL is unavailable nothing is reported, and the watchers continue when it is back. Thousands of
 * watchers of one import are told in parts, and other requests are answered between two parts.
 */
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Pool } from '../../db/pool.ts';
import { loggable } from '../../logger.ts';
import type { ImportResult } from '../answers.ts';
import { readAllProgress } from './progress.ts';

/** Between the beginnings of two readings. */
const INTERVAL_MS = 250;
/** A reading that takes long is followed by a pause of this many times its duration. */
const REST = 3;
/** Watchers that are told in one turn of the event loop. */
const TOLD_AT_ONCE = 50;

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

/** Makes calls wait for a lock that the test holds, so that they meet in the intended order. */
import type pg from 'pg';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { waitFor } from '../wait.ts';

export interface Held {
  /** The connection of the transaction that holds the lock, for further statements in it. */
  db: pg.PoolClient;
  /** Idempotent. */
  commit(): Promise<void>;
  /** Releases the lock by closing the connection, even if the server has already closed it; harmless after a commit. */
  abandon(): void;
}

const held = new Map<Held, Pool>();

/** Runs one statement in a transaction that stays open until the test commits it. */
export async function hold(pool: Pool, sql: string, values: unknown[] = []): Promise<Held> {
  const db = await pool.connect();
  db.on('error', ignore);
  const end = (destroy: boolean) => {
    if (!held.delete(one)) return;
    db.off('error', ignore);
    db.release(destroy);
  };
  const one: Held = {
    db,
    async commit() {
      if (!held.has(one)) return;
      await db.query('commit');
      end(false);
    },
    abandon: () => end(true),
  };
  held.set(one, pool);
  try {
    await db.query('begin');
    await db.query(sql, values);
  } catch (error) {
    one.abandon();
    throw error;
  }
  return one;
}

/** The server may end while a test holds a lock: the next statement reports it. */
function ignore(): void {}

/** Releases the locks that a failed test still holds on the pool; otherwise the waiting calls would never end. */
export function abandonLocks(pool: Pool): void {
  for (const [one, of] of held) if (of === pool) one.abandon();
}

/**
 * Waits until `count` statements on this database wait for a lock.
 * @param application only statements of this application name in pg_stat_activity: `muster-api`, `muster-writer`
 */
export function waiters(pool: Pool, count: number, application = ''): Promise<boolean> {
  return waitFor(
    async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
           and $1 in ('', application_name)`,
        [application],
      );
      return (rowCount ?? 0) >= count;
    },
    { what: `${count} statements to wait for a lock` },
  );
}

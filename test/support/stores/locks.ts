/** Stops calls in the middle, before a lock that the test holds, so that they meet in the order that it wants. */
import type pg from 'pg';
import type { Pool } from '../../../src/db/pool.ts';
import { waitFor } from '../wait.ts';

export interface Held {
  /** The connection of the transaction that holds the lock, for what else is to happen in it. */
  db: pg.PoolClient;
  /** Idempotent. */
  commit(): Promise<void>;
  /** Gives the lock up by closing the connection, also when the server has closed it already; harmless after a commit. */
  abandon(): void;
}

const held = new Map<Held, Pool>();

/** Runs one statement in a transaction that stays open until it is told to commit. */
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

/** The server may go while a test holds a lock: the next statement says so. */
function ignore(): void {}

/** Gives up what a test that failed still holds on the pool: nothing that waits for it could end. */
export function abandonLocks(pool: Pool): void {
  for (const [one, of] of held) if (of === pool) one.abandon();
}

/**
 * Waits until `count` statements on this database wait for a lock.
 * @param application only those of one kind of process, as pg_stat_activity names it: `muster-api`, `muster-writer`
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

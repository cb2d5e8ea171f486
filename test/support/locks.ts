/** Stops calls in the middle, before a lock that the test holds, so that they meet in the order that it wants. */
import type pg from 'pg';
import type { Pool } from '../../src/db/pool.ts';
import { waitFor } from './wait.ts';

export interface Held {
  /** The connection of the transaction that holds the lock, for what else is to happen in it. */
  db: pg.PoolClient;
  commit(): Promise<void>;
}

/** Runs one statement in a transaction that stays open until it is told to commit. */
export async function hold(pool: Pool, sql: string, values: unknown[] = []): Promise<Held> {
  const db = await pool.connect();
  await db.query('begin');
  await db.query(sql, values);
  return {
    db,
    async commit() {
      await db.query('commit');
      db.release();
    },
  };
}

/** Waits until `count` statements on this database stand before a lock. */
export function waiters(pool: Pool, count: number): Promise<boolean> {
  return waitFor(
    async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return (rowCount ?? 0) >= count;
    },
    { what: `${count} statements to wait for a lock` },
  );
}

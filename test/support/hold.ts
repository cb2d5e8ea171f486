/** Stops an import in the middle of its batches, for tests that need it there. */
import type { Pool } from '../../src/db/pool.ts';
import { waitFor } from './wait.ts';

/**
 * Locks the import's row, as whoever ends it does: the last act of every batch waits for it.
 * @returns what lets it go again
 */
export async function holdImport(pool: Pool, importId: string): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query('begin');
  await client.query('select from imports where id = $1 for update', [importId]);
  return async () => {
    await client.query('commit');
    client.release();
  };
}

/** Waits until `count` batches stand before a row that is held; answers the ids of their server processes. */
export function waitingBatches(pool: Pool, count: number): Promise<number[]> {
  return waitFor(
    async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `select pid from pg_stat_activity
         where datname = current_database() and application_name = 'muster-writer' and wait_event_type = 'Lock'`,
      );
      return rows.length >= count ? rows.map((r) => r.pid) : undefined;
    },
    { what: `${count} batches to wait`, timeoutMs: 30_000 },
  );
}

/**
 * Ends imports at their deadline.
 *
 * Guarantee: locks the import's row first, so it waits for a commit in progress and prevents any later one. Once
 * TIMED_OUT has been shown, no further user appears. Readers call it too (status/progress.ts), so no process has to be
 * alive at the deadline. On crash: the next reader or maintenance round does it.
 */
import { type Pool, transaction } from '../../db/pool.ts';

/** Ends one import if its deadline has passed; returns whether it did. */
export async function expireImport(pool: Pool, importId: string): Promise<boolean> {
  return transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rowCount } = await db.query(
      `update imports set state = 'timed_out', changed_at = clock_timestamp(), finished_at = clock_timestamp()
       where id = $1 and state = 'running' and deadline <= clock_timestamp()`,
      [importId],
    );
    if (rowCount === 1) await db.query(`select pg_notify('muster_import', $1)`, [importId]);
    return rowCount === 1;
  });
}

/** Ends every import whose deadline has passed; returns how many it found. */
export async function expireDue(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where state = 'running' and deadline <= clock_timestamp()`,
  );
  for (const { id } of rows) await expireImport(pool, id);
  return rows.length;
}

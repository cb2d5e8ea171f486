/**
 * Ends imports at their deadline.
 *
 * Guarantee: taking the import's row lock first, this waits for a commit under way and lets none through afterwards; so
 * once anybody was told TIMED_OUT no further user appears. Readers call it too (status/progress.ts), so no process has to be
 * alive at the deadline. If we die here the next reader or round does it.
 */
import { type Pool, transaction } from '../../db/pool.ts';

/** Ends one import if its deadline has passed; answers whether it did. */
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

/** Ends every import whose deadline has passed; answers how many. */
export async function expireDue(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where state = 'running' and deadline <= clock_timestamp()`,
  );
  for (const { id } of rows) await expireImport(pool, id);
  return rows.length;
}

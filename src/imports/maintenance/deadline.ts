/**
 * Ends imports at their deadline.
 *
 * Guarantee: locks the import's row first, so it waits for a commit in progress and prevents any later one. Once
 * TIMED_OUT has been shown, no further user appears. Readers call it too (status/progress.ts), so no process has to be
 * alive at the deadline. On crash: the next reader or maintenance round does it.
 */
import { type Pool, transaction } from '../../db/pool.ts';
import type { Ran } from '../../observations.ts';
import { publishEnd, RAN } from '../ended.ts';

/** Ends one import if its deadline has passed; returns whether it did. */
export async function expireImport(pool: Pool, importId: string): Promise<boolean> {
  const ran = await transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rows } = await db.query<Ran>(
      `update imports set state = 'timed_out', changed_at = clock_timestamp(), finished_at = clock_timestamp()
       where id = $1 and state = 'running' and deadline <= clock_timestamp() returning ${RAN}`,
      [importId],
    );
    if (rows[0]) await db.query(`select pg_notify('muster_import', $1)`, [importId]);
    return rows[0];
  });
  publishEnd('timed_out', ran);
  return ran !== undefined;
}

/** Ends every import whose deadline has passed; returns how many it found. */
export async function expireDue(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where state = 'running' and deadline <= clock_timestamp()`,
  );
  for (const { id } of rows) await expireImport(pool, id);
  return rows.length;
}

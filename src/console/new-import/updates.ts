/** How many existing users a dry run would update. The caller has read the dry run through the API, which allowed it. */
import type { Db } from '../../db/pool.ts';

export async function countUpdates(db: Db, importId: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from import_items where import_id = $1 and changed is not null and state = 'succeeded'`,
    [importId],
  );
  return rows[0]?.n ?? 0;
}

/**
 * Erases the user data that ended imports still hold: that of failed, timed-out and cancelled users, which is kept for
 * retry, resume and report until a set time after the import's end. After that only ids and outcomes remain. A single
 * import is deleted as a whole.
 *
 * Guarantee: each batch locks the import's row, so it never overlaps a resume: once the first batch has begun, the
 * import can never run again. No item changes its state, so the totals stay the same. On crash: the next round
 * continues at the cursor.
 */
import { appendEvent } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { PAYLOAD } from '../items.ts';

const BATCH = 2000;
const SINGLES = 1000;
/** One hour longer than an Idempotency-Key lives, as the answer for a key may be read from such an import. */
const SINGLE_KEPT = `interval '25 hours'`;

/** SQL over an import: it has ended. */
export const IS_OVER = `state in ('succeeded', 'completed_with_errors', 'timed_out', 'cancelled', 'undone')`;
/** The condition of the partial index. */
const IS_ERASABLE = 'finished_at is not null and (erased_to is null or erased_to < total)';
/** Ended at least `$1` milliseconds ago. */
const IS_LONG_OVER = `finished_at < clock_timestamp() - $1 * interval '1 millisecond'`;

/**
 * Erases one batch of each bulk import that ended more than `ttlMs` ago, and deletes one batch of single imports.
 * @returns whether there may be more
 */
export async function eraseRound(pool: Pool, ttlMs: number): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where kind = 'bulk' and ${IS_ERASABLE} and ${IS_OVER}
       and ${IS_LONG_OVER} order by finished_at limit 100`,
    [ttlMs],
  );
  for (const { id } of rows) await transaction(pool, (db) => eraseBatch(db, id, ttlMs));
  return (await sweepSingles(pool)) === SINGLES || rows.length > 0;
}

async function eraseBatch(db: Db, importId: string, ttlMs: number): Promise<void> {
  const { rows } = await db.query<{ from: number; total: number; resource_owner: string }>(
    `select coalesce(erased_to, 0) as from, total, resource_owner from imports
     where id = $2 and ${IS_ERASABLE} and ${IS_OVER} and ${IS_LONG_OVER} for update`,
    [ttlMs, importId],
  );
  const [import_] = rows;
  if (!import_) return; // resumed meanwhile, or another process was first
  const to = Math.min(import_.from + BATCH, import_.total);
  await db.query(
    `update import_items set ${PAYLOAD.map((column) => `${column} = null`).join(', ')}
     where import_id = $1 and ordinal >= $2 and ordinal < $3 and state in ('pending', 'failed')`,
    [importId, import_.from, to],
  );
  await db.query('update imports set erased_to = $2 where id = $1', [importId, to]);
  if (to === import_.total) await tellErased(db, importId, import_.resource_owner);
}

async function tellErased(db: Db, importId: string, resourceOwner: string): Promise<void> {
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: importId,
    resourceOwner,
    type: 'import.erased',
    editor: 'system',
  });
  await db.query('update imports set sequence = $2, changed_at = clock_timestamp() where id = $1', [
    importId,
    sequence,
  ]);
}

/** Deletes single imports that ended long ago, so that no request needs their answers; returns how many. */
async function sweepSingles(db: Db): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `with gone as (
       delete from imports where id in (
         select id from imports where kind = 'single' and ${IS_ERASABLE}
           and finished_at < clock_timestamp() - ${SINGLE_KEPT} order by finished_at limit ${SINGLES})
       returning id
     ),
     items as (delete from import_items t using gone g where t.import_id = g.id)
     select count(*)::int as n from gone`,
  );
  return rows[0]?.n ?? 0;
}

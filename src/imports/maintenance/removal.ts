/**
 * Removes bulk imports that ended long ago: their items, results and mails that were held until then. Their users and
 * events stay.
 *
 * Guarantee: an import disappears for its readers at once, after its payload was erased (retention.ts), so it can never
 * run again. Each transaction removes a bounded number of rows, and skips an import that another process is removing.
 * On crash: the next round continues at the cursor.
 */
import { appendEvent } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { forgetFailures } from '../failures.ts';
import { IS_OVER } from './retention.ts';

const BATCH = 2000;
/** A request may be repeated with its Idempotency-Key for a day, and then gets the status of its import. */
const LEAST_KEPT = `interval '25 hours'`;

const NEXT_OLD = `select id, resource_owner from imports
  where kind = 'bulk' and erased_to >= total and removed_to is null and ${IS_OVER}
    and finished_at < clock_timestamp() - greatest($1 * interval '1 millisecond', ${LEAST_KEPT})
  order by finished_at limit 1 for update skip locked`;

const NEXT_BATCH = `select id, removed_to as from, total from imports
  where removed_to is not null order by id limit 1 for update skip locked`;

/**
 * Hides one import that ended more than `ttlMs` ago, and removes one batch of the items of a hidden one.
 * @returns whether there may be more
 */
export async function removeRound(pool: Pool, ttlMs: number): Promise<boolean> {
  const hasHidden = await transaction(pool, (db) => hideOne(db, ttlMs));
  const hasRemoved = await transaction(pool, removeBatch);
  return hasHidden || hasRemoved;
}

async function hideOne(db: Db, ttlMs: number): Promise<boolean> {
  const { rows } = await db.query<{ id: string; resource_owner: string }>(NEXT_OLD, [ttlMs]);
  const [import_] = rows;
  if (!import_) return false;
  if ((await dropMails(db, import_.id)) === BATCH) return true;
  await db.query('update imports set removed_to = 0 where id = $1', [import_.id]);
  await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: import_.id,
    resourceOwner: import_.resource_owner,
    type: 'import.removed',
    editor: 'system',
  });
  return true;
}

/** Without its import nothing would hold these mails back. Returns how many there were, at most BATCH. */
async function dropMails(db: Db, importId: string): Promise<number> {
  const { rowCount } = await db.query(
    `delete from mail_outbox where ctid = any(array(
       select ctid from mail_outbox where import_id = $1 and state = 'pending' limit ${BATCH} for update))`,
    [importId],
  );
  await db.query('update imports set mails_due = mails_due - $2 where id = $1', [importId, rowCount]);
  return rowCount ?? 0;
}

async function removeBatch(db: Db): Promise<boolean> {
  const { rows } = await db.query<{ id: string; from: number; total: number }>(NEXT_BATCH);
  const [import_] = rows;
  if (!import_) return false;
  const { id, from, total } = import_;
  await db.query('delete from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3', [
    id,
    from,
    from + BATCH,
  ]);
  if (from + BATCH < total) await db.query('update imports set removed_to = $2 where id = $1', [id, from + BATCH]);
  else await removeLast(db, id);
  return true;
}

async function removeLast(db: Db, importId: string): Promise<void> {
  await forgetFailures(db, importId);
  await db.query('delete from import_rates where import_id = $1', [importId]);
  await db.query('delete from imports where id = $1', [importId]);
}

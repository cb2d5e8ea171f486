/**
 * Erases the user data that ended imports still hold, removes old imports, and erases peppers that nobody needs any
 * more.
 *
 * The data of failed, timed-out and cancelled users is kept for retry, resume and report until a set time after the
 * import's end. After that only ids and outcomes remain. A single import is deleted as a whole. Bulk imports that
 * ended long ago are then removed, with their items, results and all mails that are still pending; their users and
 * events stay.
 *
 * Guarantee: each batch locks the import's row, so it never overlaps a resume: once the first batch has begun, the
 * import can never run again. No item changes its state, so the totals stay the same. A removed import disappears for
 * its readers at once, after its data was erased. Each transaction removes a bounded number of rows. On crash: the
 * next round continues at the cursor.
 */
import { IS_PEPPERED, PEPPER_OF } from '../../passwords/pepper.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Imports } from '../../platform/db/tables.ts';
import { ERASED } from '../entries/item.ts';
import { forgetFailures } from '../entries/outcome.ts';
import { HAS_ENDED, MAY_HOLD_DATA } from '../entries/states.ts';

const BATCH = 2000;
const SINGLES = 1000;
/** One hour longer than an Idempotency-Key lives, as the answer for a key may be read from such an import. */
const LEAST_KEPT = `interval '25 hours'`;

/** The condition of the partial index. */
const IS_ERASABLE = 'finished_at is not null and (erased_to is null or erased_to < total)';
/** Ended at least `$1` milliseconds ago. */
const IS_LONG_OVER = `finished_at < clock_timestamp() - $1 * interval '1 millisecond'`;

const NEXT_OLD = `select id, resource_owner from imports
  where kind = 'bulk' and erased_to >= total and removed_to is null and ${HAS_ENDED}
    and finished_at < clock_timestamp() - greatest($1 * interval '1 millisecond', ${LEAST_KEPT})
  order by finished_at limit 1 for update skip locked`;

const NEXT_BATCH = `select id, removed_to as from, total from imports
  where removed_to is not null order by id limit 1 for update skip locked`;

/**
 * Erases one batch of each bulk import that ended more than `ttlMs` ago, and deletes one batch of single imports.
 * @returns whether there may be more
 */
export async function eraseRound(pool: Pool, ttlMs: number): Promise<boolean> {
  const { rows } = await pool.query<Pick<Imports, 'id'>>(
    `select id from imports where kind = 'bulk' and ${IS_ERASABLE} and ${HAS_ENDED}
       and ${IS_LONG_OVER} order by finished_at limit 100`,
    [ttlMs],
  );
  for (const { id } of rows) await transaction(pool, (db) => eraseBatch(db, id, ttlMs));
  return (await sweepSingles(pool)) === SINGLES || rows.length > 0;
}

async function eraseBatch(db: Db, importId: string, ttlMs: number): Promise<void> {
  const { rows } = await db.query<Pick<Imports, 'total' | 'resource_owner'> & { from: number }>(
    `select coalesce(erased_to, 0) as from, total, resource_owner from imports
     where id = $2 and ${IS_ERASABLE} and ${HAS_ENDED} and ${IS_LONG_OVER} for update`,
    [ttlMs, importId],
  );
  const [import_] = rows;
  if (!import_) return; // resumed meanwhile, or another process was first
  const to = Math.min(import_.from + BATCH, import_.total);
  await db.query(
    `update import_items set ${ERASED}
     where import_id = $1 and ordinal >= $2 and ordinal < $3 and ${MAY_HOLD_DATA}`,
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
           and finished_at < clock_timestamp() - ${LEAST_KEPT} order by finished_at limit ${SINGLES})
       returning id
     ),
     items as (delete from import_items t using gone g where t.import_id = g.id)
     select count(*)::int as n from gone`,
  );
  return rows[0]?.n ?? 0;
}

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
  const { rows } = await db.query<Pick<Imports, 'id' | 'resource_owner'>>(NEXT_OLD, [ttlMs]);
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

/**
 * Drops all pending mails: held ones, which nothing would hold back without the import, and those that wait for their
 * turn or their next attempt. Returns how many there were, at most BATCH.
 */
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
  const { rows } = await db.query<Pick<Imports, 'id' | 'total'> & { from: number }>(NEXT_BATCH);
  const [import_] = rows;
  if (!import_) return false;
  const { id, from, total } = import_;
  await db.query(
    `with gone as (
       delete from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3 returning user_id)
     delete from first_sign_ins f using gone where f.user_id = gone.user_id and f.import_id = $1`,
    [id, from, from + BATCH],
  );
  if (from + BATCH < total) await db.query('update imports set removed_to = $2 where id = $1', [id, from + BATCH]);
  else await removeLast(db, id);
  return true;
}

async function removeLast(db: Db, importId: string): Promise<void> {
  await forgetFailures(db, importId);
  await db.query('delete from import_rates where import_id = $1', [importId]);
  await db.query('delete from imports where id = $1', [importId]);
}

/**
 * Erases the peppers that nobody needs any more: no user has a hash with it, and the import holds no hash from which
 * another could be written. An import that could still run keeps its pepper.
 */
export async function sweepPeppers(db: Db): Promise<void> {
  await db.query(
    `delete from import_peppers p
     where not exists (select from users u where ${IS_PEPPERED} and ${PEPPER_OF} = p.import_id::text)
       and not exists (select from imports i where i.id = p.import_id
         and (i.finished_at is null or i.erased_to is null or i.erased_to < i.total))`,
  );
}

/**
 * Erases what drafts no longer need: the files and entries of discarded and expired ones, the files of started ones.
 *
 * Guarantee: each transaction removes a bounded number of rows, and leaves out what another process is erasing. A draft
 * that somebody changes at this moment is erased in a later round.
 * On crash: the next round continues.
 */
import { isFree } from '../../platform/db/lease.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { endChecks } from '../intake/checks.ts';

/** Pieces of files that are erased at a time: some megabytes. */
const CHUNKS = 32;
const ITEMS = 5000;

/** Discarded drafts are known until they expire. A process that still converts one notices first. */
const NEXT = `select d.import_id as id
  from import_preparations d join imports i on i.id = d.import_id
  where (d.expires_at <= clock_timestamp() or i.kind <> 'draft'
      or i.state = 'discarded' and (exists (select from import_files f where f.import_id = d.import_id)
        or (select true from import_items t where t.import_id = d.import_id limit 1)))
    and ${isFree('d.held_until')}
  order by d.expires_at limit 1 for update of d skip locked`;

/** Reads what it is once its row is locked: it may have started since it was found. */
const LOCKED = `select i.kind <> 'draft' as started, d.expires_at <= clock_timestamp() as expired
  from import_preparations d join imports i on i.id = d.import_id where d.import_id = $1`;

/** Erases one batch of one draft. @returns whether there may be more */
export async function eraseDrafts(pool: Pool): Promise<boolean> {
  return transaction(pool, async (db) => {
    const { rows: found } = await db.query<{ id: string }>(NEXT);
    if (!found[0]) return false;
    const { id } = found[0];
    const { started, expired } = oneRow((await db.query<{ started: boolean; expired: boolean }>(LOCKED, [id])).rows);
    if (!started) await endChecks(db, id, { entriesStay: false });
    if (await eraseFiles(db, id)) return true;
    if (!started && (await eraseItems(db, id))) return true;
    if (started) await db.query('delete from import_preparations where import_id = $1', [id]);
    else if (expired) await db.query(`delete from imports where id = $1 and kind = 'draft'`, [id]);
    return true;
  });
}

async function eraseFiles(db: Db, importId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from import_chunks where (import_id, file_id, position) in (
       select import_id, file_id, position from import_chunks where import_id = $1 limit ${CHUNKS})`,
    [importId],
  );
  if (rowCount === CHUNKS) return true;
  await db.query('delete from import_files where import_id = $1', [importId]);
  return false;
}

/** Removes a batch of the entries. @returns whether there may be more */
export async function eraseItems(db: Db, importId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from import_items where import_id = $1 and ordinal in (
       select ordinal from import_items where import_id = $1 limit ${ITEMS})`,
    [importId],
  );
  return rowCount === ITEMS;
}

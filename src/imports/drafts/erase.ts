/**
 * Erases what drafts no longer need: the files and entries of discarded and expired ones, the files of started ones.
 *
 * Guarantee: each transaction removes a bounded number of rows, and leaves out what another process is erasing. A draft
 * that somebody changes at this moment is erased in a later round.
 * On crash: the next round continues.
 */
import { isFree } from '../../platform/db/lease.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { endChecks } from '../intake/checks.ts';

/** Pieces of files that are erased at a time: some megabytes. */
const CHUNKS = 32;
const ITEMS = 5000;

/** Discarded and started drafts are known until they expire. A process that still converts one notices first. */
const NEXT = `select d.import_id as id, d.state = 'started' as started, d.expires_at <= clock_timestamp() as expired
  from import_drafts d
  where (d.expires_at <= clock_timestamp()
      or d.state in ('discarded', 'started') and exists (select from import_files f where f.import_id = d.import_id)
      or d.state = 'discarded' and (select true from import_items t where t.import_id = d.import_id limit 1))
    and ${isFree('d.held_until')}
  order by d.expires_at limit 1 for update of d skip locked`;

/** Erases one batch of one draft. @returns whether there may be more */
export async function eraseDrafts(pool: Pool): Promise<boolean> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<{ id: string; started: boolean; expired: boolean }>(NEXT);
    const [draft] = rows;
    if (!draft) return false;
    if (!draft.started) await endChecks(db, draft.id, { entriesStay: false });
    if (await eraseFiles(db, draft.id)) return true;
    if (!draft.started && (await eraseItems(db, draft.id))) return true;
    if (draft.started && draft.expired) await db.query('delete from import_drafts where import_id = $1', [draft.id]);
    else if (draft.expired) await db.query(`delete from imports where id = $1 and state = 'receiving'`, [draft.id]);
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

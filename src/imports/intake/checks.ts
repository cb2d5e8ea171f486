/**
 * The checks of a draft, each a dry run that judges the draft's entries where they are. A check has items of its own only
 * for entries with an outcome to tell: those that fail, are skipped or change a user.
 *
 * Guarantee: a check judges the entries that it was asked for, or ends: when the entries go, change or start, it runs no
 * more and cannot be resumed. Its outcomes stay.
 */
import { appendEvent, SYSTEM } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';

/** Makes the import the check of a draft. Call it before its entries count. */
export async function checkEntriesOf(db: Db, checkId: string, draftId: string): Promise<void> {
  await db.query('update import_dry_runs set entries_of = $2 where import_id = $1', [checkId, draftId]);
  // Invalid entries, and those that a correction has left out, are settled before the check begins.
  for (const settled of [`error is not null and state = 'failed'`, `state = 'skipped'`]) {
    await db.query(
      `insert into import_items (import_id, ordinal, org_index, state, user_id, user_name, error)
       select $1, ordinal, org_index, state, user_id, user_name, error from import_items
       where import_id = $2 and ${settled}`,
      [checkId, draftId],
    );
  }
}

/**
 * Ends the checks of a draft for good. Call it in the transaction that changes the draft, with its row locked.
 * @param change entriesStay: the entries still tell who the users of the check were
 */
export async function endChecks(
  db: Db,
  draftId: string,
  { editor = SYSTEM, entriesStay }: { editor?: string | undefined; entriesStay: boolean },
): Promise<void> {
  const { rows } = await db.query<{ id: string; resourceOwner: string; isOpen: boolean }>(
    `select i.id, i.resource_owner as "resourceOwner", i.state in ('running', 'paused') as "isOpen"
     from import_dry_runs r join imports i on i.id = r.import_id
     where r.entries_of = $1 order by i.id for update of i`,
    [draftId],
  );
  for (const { id, resourceOwner, isOpen } of rows) if (isOpen) await cancelCheck(db, id, { resourceOwner, editor });
  const ids = rows.map(({ id }) => id);
  await db.query('update imports set erased_to = total where id = any($1::bigint[])', [ids]);
  if (entriesStay) return;
  await db.query('update import_dry_runs set entries_of = null where import_id = any($1::bigint[])', [ids]);
}

async function cancelCheck(
  db: Db,
  checkId: string,
  { resourceOwner, editor }: { resourceOwner: string; editor: string },
): Promise<void> {
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: checkId,
    resourceOwner,
    type: 'import.cancelled',
    editor,
    payload: { reason: 'draft' },
  });
  await db.query(
    `update imports set state = 'cancelled', changed_at = clock_timestamp(), finished_at = clock_timestamp(),
       deadline = deadline + coalesce(clock_timestamp() - paused_at, '0'),
       stood = stood + coalesce(clock_timestamp() - paused_at, '0'), paused_at = null, end_uncounted = true, sequence = $2
     where id = $1`,
    [checkId, sequence],
  );
  await db.query(`select pg_notify('muster_import', $1)`, [checkId]);
}

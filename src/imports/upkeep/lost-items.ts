/**
 * Gives up what imports hold encrypted with a key that was lost.
 *
 * Users who were to be written fail, as a user without a part of what was sent for them might get in too easily, or
 * never: without the second factor, without the password. Of users who had failed before, the data is erased, as at the
 * end of the retention time. Drafts are discarded.
 *
 * Guarantee: the counts of an import stay right, and one without pending users has ended. No user is written with a
 * hash whose pepper is lost.
 */
import { IS_PEPPERED } from '../../passwords/pepper.ts';
import { allowLong } from '../../platform/db/client.ts';
import { appendEvent, SYSTEM } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { errorBody } from '../../platform/errors.ts';
import { ERASED } from '../entries/item.ts';
import { forgetFailures } from '../entries/outcome.ts';
import { MAY_HOLD_DATA } from '../entries/states.ts';
import { endChecks } from '../intake/checks.ts';

const LOST = JSON.stringify(
  errorBody(
    'FAILED_PRECONDITION',
    'IMPORT-KEY-LOST',
    'The key that the secrets of this user were encrypted with was lost before the user was written. Send the user again.',
  ),
);

/** Items that are changed in one statement. */
const BATCH = 5000;

/** SQL over an import `i`: it has not been accepted yet, as it is a draft, or an upload that broke off. */
const IS_PREPARED = `(i.kind = 'draft' or i.state = 'receiving')`;

/** Whether the import has not been accepted yet. */
export async function isBeingPrepared(db: Db, importId: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from imports i where i.id = $1 and ${IS_PREPARED}`, [importId]);
  return rowCount === 1;
}

/** How many of these items are of users who are still to be written. */
export async function countPending(db: Db, importId: string, ordinals: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from import_items where import_id = $1 and ordinal = any($2::int[]) and state = 'pending'`,
    [importId, ordinals],
  );
  return rows[0]?.n ?? 0;
}

/** The items among these whose only secrets are in `extras`. */
export async function withoutColumns(db: Db, importId: string, ordinals: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ ordinal: string }>(
    `select ordinal::text from import_items
     where import_id = $1 and ordinal = any($2::int[]) and totp_sealed is null and password_sealed is null`,
    [importId, ordinals],
  );
  return rows.map(({ ordinal }) => ordinal);
}

/** Fails the users of these items who are still to be written, and erases the data of the others. */
export async function giveUpItems(db: Db, importId: string, ordinals: readonly string[]): Promise<void> {
  await allowLong(db);
  await db.query('select from imports where id = $1 for update', [importId]);
  await db.query(
    `with lost as (
       select ordinal, state from import_items where import_id = $1 and ordinal = any($2::int[])),
     given_up as (
       update import_items t set ${ERASED},
         state = case lost.state when 'pending' then 'failed' else t.state end,
         error = case lost.state when 'pending' then $3::jsonb else t.error end
       from lost where t.import_id = $1 and t.ordinal = lost.ordinal
       returning t.org_index, lost.state as was),
     per_org as (select org_index, count(*)::int as n from given_up where was = 'pending' group by org_index),
     of_orgs as (
       update import_orgs o set failed = o.failed + p.n from per_org p
       where o.import_id = $1 and o.org_index = p.org_index)
     update imports set failed = failed + (select coalesce(sum(n), 0)::int from per_org),
       changed_at = clock_timestamp() where id = $1`,
    [importId, ordinals, LOST],
  );
  await db.query(
    `update imports set state = 'completed_with_errors', finished_at = coalesce(finished_at, clock_timestamp()),
       stood = stood + coalesce(clock_timestamp() - paused_at, '0'), paused_at = null
     where id = $1 and state in ('running', 'paused', 'timed_out', 'cancelled')
       and succeeded + skipped + failed + undone = total`,
    [importId],
  );
  await forgetFailures(db, importId);
}

/** Items whose hashes need the pepper of the import, and which may still be written; a batch of them. */
export async function pepperedItems(db: Db, importId: string): Promise<string[]> {
  const { rows } = await db.query<{ ordinal: string }>(
    `select ordinal::text from import_items u where import_id = $1 and ${MAY_HOLD_DATA} and ${IS_PEPPERED} limit ${BATCH}`,
    [importId],
  );
  return rows.map(({ ordinal }) => ordinal);
}

/** Discards a draft, and erases what it or an upload that broke off holds. A started draft loses its files only. */
export async function giveUpPrepared(db: Db, importId: string): Promise<void> {
  await allowLong(db);
  await db.query('select from import_preparations where import_id = $1 for update', [importId]);
  const { rows } = await db.query<{ resourceOwner: string }>(
    `update imports set state = 'discarded', changed_at = now()
     where id = $1 and kind = 'draft' and state <> 'discarded' returning resource_owner as "resourceOwner"`,
    [importId],
  );
  if (rows[0]) await tellDiscarded(db, importId, rows[0].resourceOwner);
  if (rows[0]) await endChecks(db, importId, { entriesStay: false });
  await db.query('delete from import_files where import_id = $1', [importId]);
  await db.query(`delete from import_items t using imports i where t.import_id = $1 and i.id = $1 and ${IS_PREPARED}`, [
    importId,
  ]);
}

async function tellDiscarded(db: Db, importId: string, resourceOwner: string): Promise<void> {
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: importId,
    resourceOwner,
    type: 'import.draft.discarded',
    editor: SYSTEM,
  });
  await db.query(
    `with over as (
       update import_preparations set run = run + 1, requested_at = null, result = null, error = null where import_id = $1)
     update imports set sequence = $2 where id = $1`,
    [importId, sequence],
  );
}

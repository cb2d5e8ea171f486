/**
 * One batch of an undo: judges the users of some items and removes those who may go.
 *
 * Guarantee: one transaction with its events, its items and its counts, which moves the cursor; somebody who is late finds
 * the cursor moved and does nothing. A user is locked before it is judged: a login or a change that was first keeps it, one
 * that comes later finds it gone. Who is kept stays `succeeded`, with the reason.
 */
import { appendEvent } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { IS_UNSENT } from '../../mail/outbox.ts';

export interface Undoing {
  id: string;
  /** Everything before it is done. */
  undo_next: number;
  total: number;
}

/** Undoes the items up to `to`; with the last of them the import is undone. */
export async function undoBatch(pool: Pool, { id, undo_next: from, total }: Undoing, to: number): Promise<void> {
  await transaction(pool, async (db) => {
    // The planner may know nothing yet of the rows, and would read whole tables for a few of them.
    await db.query('set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off');
    await lockUsers(db, id, from, to);
    const import_ = await lockImport(db, id, from);
    if (!import_) return; // somebody else did this batch
    await db.query(BATCH, [id, from, to, import_.by, JSON.stringify({ importId: id })]);
    if (to >= total) await finish(db, id, import_);
  });
}

/**
 * Users before the import, as a batch of the import and a delete of one user lock them, so that none waits for the other.
 * In a statement of its own: the next one then sees what was committed while we waited.
 */
async function lockUsers(db: Db, importId: string, from: number, to: number): Promise<void> {
  await db.query(
    `select from users u where u.import_id = $1 and u.id in (
       select user_id from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3 and state = 'succeeded')
     order by u.id for update`,
    [importId, from, to],
  );
}

interface LockedUndo {
  by: string;
  resource_owner: string;
}

async function lockImport(db: Db, importId: string, from: number): Promise<LockedUndo | undefined> {
  const { rows } = await db.query<LockedUndo>(
    `select undo_by as by, resource_owner from imports where id = $1 and state = 'undoing' and undo_next = $2 for update`,
    [importId, from],
  );
  return rows[0];
}

const KEPT_BECAUSE = `case
  when u.id is null then 'deleted'
  when u.import_id is distinct from $1 then 'not_created'
  when u.last_login_at is not null then 'signed_in'
  when not exists (select from events e where e.sequence = u.sequence and e.type = 'user.human.imported') then 'changed'
  when exists (select from org_members m where m.user_id = u.id)
    or exists (select from instance_members m where m.user_id = u.id) then 'member'
  end::kept_reason`;

// Unsent mails go by hand, as the import counts them; all else that hangs on a user goes with it.
const BATCH = `
with judged as materialized (
  select i.ordinal, i.user_id, ${KEPT_BECAUSE} as kept
  from import_items i left join users u on u.id = i.user_id
  where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'
),
dropped as (
  delete from mail_outbox m using judged j
  where j.kept is null and m.user_id = j.user_id and ${IS_UNSENT} returning m.import_id
),
removed as (
  delete from users u using judged j where j.kept is null and u.id = j.user_id returning u.id, u.org_id
),
events_added as (
  insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select 'user', id, org_id, 'user.removed', $4, $5 from removed
),
marked as (
  update import_items i set kept = j.kept, state = case when j.kept is null then 'undone'::item_state else i.state end
  from judged j where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.ordinal = j.ordinal
  returning i.org_index, i.state
),
per_org as (select org_index, count(*)::int as n from marked where state = 'undone' group by org_index),
of_orgs as (
  update import_orgs o set succeeded = o.succeeded - p.n, undone = o.undone + p.n from per_org p
  where o.import_id = $1 and o.org_index = p.org_index
)
update imports set
  succeeded = succeeded - (select coalesce(sum(n), 0) from per_org),
  undone = undone + (select coalesce(sum(n), 0) from per_org),
  mails_due = mails_due - (select count(*) from dropped where import_id = $1),
  undo_next = $3, changed_at = clock_timestamp()
where id = $1`;

async function finish(db: Db, importId: string, { by, resource_owner: resourceOwner }: LockedUndo): Promise<void> {
  const { rows } = await db.query<{ kept: number; undone: number }>(
    `update imports set state = 'undone' where id = $1 returning succeeded as kept, undone`,
    [importId],
  );
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: importId,
    resourceOwner,
    type: 'import.undone',
    editor: by,
    payload: rows[0] as object as Record<string, unknown>,
  });
  await db.query('update imports set sequence = $2 where id = $1', [importId, sequence]);
  await db.query(`select pg_notify('muster_import', $1)`, [importId]);
}

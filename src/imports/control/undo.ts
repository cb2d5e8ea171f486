/**
 * Undo: removes exactly the users that an import created and who have neither signed in nor been changed since.
 *
 * `undoImport`, the action, only sets the state `undoing`. The worker process that holds the lease `undoer` then does
 * the work, batch by batch: decides for the users of a range of items which may be removed, and removes them. The item
 * of a kept user stays `succeeded`, with the reason in `kept`. `previewUndo` counts by the same rule, and changes
 * nothing.
 *
 * Guarantee: bounded memory, time linear in the import. Users, events, items, counts and the cursor change in one
 * transaction; a late process finds the cursor moved and does nothing. Users' rows are locked before the decision: a
 * login or change that came first keeps the user, and one that comes later finds them deleted. A preview keeps no
 * transaction open for longer than one stretch of users, so it holds up nothing. On crash: the import stays `undoing`,
 * and the next holder of the lease continues after the last committed batch.
 */
import type { ImportResult, UndoPreview } from '../../contract/import-types.ts';
import type { Caller } from '../../contract/permissions.ts';
import { IS_UNSENT } from '../../messages/mail/outbox.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { type Named, oneRow, type Present } from '../../platform/db/rows.ts';
import type { ImportItems, Imports, OrgMembers } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { inImport, publish, type Ran } from '../../platform/telemetry.ts';
import { publishEnd, RAN } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import { act } from './control.ts';

/** Users of a batch. Larger batches are hardly cheaper, and lock the import and its users for longer. */
export const UNDO_BATCH = 1000;

const STRETCH = 20_000;
/** Stretches, each on a connection of its own. */
const AT_ONCE = 2;
/** Up to so many members are read once; of more, each user is looked up. */
const MOST_MEMBERS = 10_000;

/**
 * Lets a transaction look rows up by key: the planner may have no statistics for them yet, and would read whole
 * tables for a few of them.
 */
const BY_KEY = 'set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off';

/**
 * SQL over `users u`: the user has changed since an import created them, by the last event of the user. If the event is
 * too old to be kept: by the times of the user, which each change sets.
 */
const IS_CHANGED = `coalesce((select e.type from events e where e.sequence = u.sequence),
    case when u.changed_at = u.created_at then 'user.human.imported' end) is distinct from 'user.human.imported'`;
const IS_MEMBER = `(select true from org_members m where m.user_id = u.id limit 1)
    or (select true from instance_members m where m.user_id = u.id limit 1)`;

/**
 * Most users were never changed: only for those who were is the event read. Each change of a user sets `changed_at`.
 */
const IS_CHANGED_QUICKLY = `u.changed_at <> u.created_at and ${IS_CHANGED}`;

/** The values of `kept_reason`. */
const REASONS = ['deleted', 'not_created', 'signed_in', 'changed', 'member'];

// Subqueries that PostgreSQL hashes, instead of a join with `judged`: without hash joins, a batch would be joined in
// quadratic time.
const isRemoved = (ordinal: string) => `${ordinal} in (select ordinal from judged where kept is null)`;

// Unsent mails are deleted explicitly, as the import counts them; the trigger of users deletes all other rows.
const BATCH = `
with judged as materialized (
  select i.ordinal, i.user_id, ${keptBecause()} as kept
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
  select 'users', ($1::bigint)::text, org_id, 'user.removed', $4,
    $5::jsonb || jsonb_build_object('userIds', to_jsonb(array_agg(id))) from removed
  -- Small rows, as src/imports/run/write-batch.sql writes: a long one would be compressed.
  group by org_id, hashtext(id) & 31
),
marked as (
  update import_items i set kept = ${keptOf('i.ordinal')},
    state = case when ${isRemoved('i.ordinal')} then 'undone'::item_state else i.state end
  where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'
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
where id = $1 returning (select coalesce(sum(n), 0)::int from per_org) as undone, ${RAN}`;

/**
 * Starts the undo of an import that does not run; `undoRound` does the work.
 * @throws ApiError 400 IMPORT-STATE, IMPORT-DRY-RUN
 */
export async function undoImport(pool: Pool, caller: Caller, importId: string): Promise<void> {
  await act(pool, caller, importId, 'import.undo.started', async (db, import_) => {
    if (['undoing', 'undone'].includes(import_.state)) return false;
    requireState(import_, 'undo');
    if (import_.dryRun) throw nothingToUndo();
    await db.query(
      `update imports set state = 'undoing', undo_by = $2, changed_at = clock_timestamp(), paused_at = null,
         finished_at = coalesce(finished_at, paused_at, clock_timestamp()) where id = $1`,
      [importId, caller.userId],
    );
    return true;
  });
}

function nothingToUndo(): ApiError {
  return new ApiError(
    'FAILED_PRECONDITION',
    'IMPORT-DRY-RUN',
    'A dry run writes no users, so there is nothing to undo.',
  );
}

export async function isAnyUndoing(db: Db): Promise<boolean> {
  return (await db.query(`select from imports where state = 'undoing' limit 1`)).rowCount === 1;
}

/**
 * Undoes one batch of `batch` items of each import that is being undone. An error in one does not stop the others.
 * @throws the first error, after all imports had their batch
 */
export async function undoRound(pool: Pool, batch: number): Promise<void> {
  const { rows } = await pool.query<Undoing>(
    `select id, undo_next, total from imports where state = 'undoing' order by id`,
  );
  const faults: unknown[] = [];
  for (const row of rows) {
    const undo = () => undoBatch(pool, row, Math.min(row.undo_next + batch, row.total));
    await inImport(row.id, 'import.undo', {}, undo).catch((fault) => faults.push(fault));
  }
  if (faults.length > 0) throw faults[0];
}

/** `undo_next` is the cursor: all items before this ordinal are done. */
export type Undoing = Pick<Imports, 'id' | 'undo_next' | 'total'>;

/** Undoes the items up to `to`, exclusive; with the last items the import becomes `undone`. */
async function undoBatch(pool: Pool, { id, undo_next: from, total }: Undoing, to: number): Promise<void> {
  const batch = await transaction(pool, async (db) => {
    await db.query(BY_KEY);
    await lockUsers(db, id, from, to);
    const import_ = await lockImport(db, id, from);
    if (!import_) return undefined; // another process did this batch
    const values = [id, from, to, import_.by, JSON.stringify({ importId: id })];
    const { rows } = await db.query<{ undone: number } & Ran>(BATCH, values);
    if (to >= total) await finish(db, id, import_);
    return rows[0];
  });
  if (!batch) return;
  publish('users', { undone: batch.undone });
  if (to >= total) publishEnd('undone', batch);
}

/**
 * Locks the users' rows before the import's, in the same order as an import's batch and the deletion of a user, to
 * prevent deadlocks. A separate statement, so that the next one sees what was committed while this one waited.
 */
async function lockUsers(db: Db, importId: string, from: number, to: number): Promise<void> {
  await db.query(
    `select from users u where u.import_id = $1 and u.id in (
       select user_id from import_items where import_id = $1 and ordinal >= $2 and ordinal < $3 and state = 'succeeded')
     order by u.id for update`,
    [importId, from, to],
  );
}

type LockedUndo = Pick<Imports, 'resource_owner'> & Present<Named<Imports, { by: 'undo_by' }>>;

async function lockImport(db: Db, importId: string, from: number): Promise<LockedUndo | undefined> {
  const { rows } = await db.query<LockedUndo>(
    `select undo_by as by, resource_owner from imports where id = $1 and state = 'undoing' and undo_next = $2 for update`,
    [importId, from],
  );
  return rows[0];
}

/**
 * SQL over `import_items i`, `users u`: why the user is kept; null when the user is removed. The import is `$1`.
 * Scalar subqueries, as PostgreSQL may answer `exists` by reading the whole table once for each statement: with a
 * million events, that took longer than everything else.
 * @param isChanged SQL that gives the same answer as the rule of the undo, and so does `isMember`
 */
export function keptBecause(isChanged = IS_CHANGED, isMember = IS_MEMBER): string {
  return `case
  when u.id is null then 'deleted'
  when u.import_id is distinct from $1 then 'not_created'
  when u.last_login_at is not null then 'signed_in'
  when ${isChanged} then 'changed'
  when ${isMember} then 'member'
  end::kept_reason`;
}

function keptOf(ordinal: string): string {
  const is = (reason: string) =>
    `when ${ordinal} in (select ordinal from judged where kept = '${reason}') then '${reason}'::kept_reason`;
  return `case when ${isRemoved(ordinal)} then null ${REASONS.map(is).join(' ')} end`;
}

async function finish(db: Db, importId: string, { by, resource_owner: resourceOwner }: LockedUndo): Promise<void> {
  const { rows } = await db.query<Named<Imports, { kept: 'succeeded'; undone: 'undone' }>>(
    `update imports set state = 'undone' where id = $1 returning succeeded as kept, undone`,
    [importId],
  );
  const { sequence } = await appendEvent(db, {
    aggregateType: 'import',
    aggregateId: importId,
    resourceOwner,
    type: 'import.undone',
    editor: by,
    payload: { ...oneRow(rows) },
  });
  await db.query('update imports set sequence = $2 where id = $1', [importId, sequence]);
  await db.query(`select pg_notify('muster_import', $1)`, [importId]);
}

/**
 * What an undo would do now: how many users it would remove, how many it would keep, and why.
 * @param isWanted whether the caller still waits; without one, counting stops
 * @throws ApiError 400 IMPORT-DRY-RUN
 */
export async function previewUndo(pool: Pool, of: ImportResult, isWanted = () => true): Promise<UndoPreview> {
  if (of.dryRun) throw nothingToUndo();
  const counts = new Map<string, number>();
  const members = await membersOf(pool, of.importId);
  const starts = startsOf(of.counts.total);
  async function countNext(): Promise<void> {
    for (const from of starts) {
      if (!isWanted()) throw new ApiError('ABORTED', 'IMPORT-ABORTED', 'The caller no longer waits for the preview.');
      for (const { kept, n } of await countKept(pool, { importId: of.importId, members, from, to: from + STRETCH }))
        counts.set(kept ?? '', (counts.get(kept ?? '') ?? 0) + n);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, countNext));
  const removed = counts.get('') ?? 0;
  counts.delete('');
  const reasons = [...counts].map(([kept, users]) => ({
    reason: kept.toUpperCase() as UndoPreview['reasons'][number]['reason'],
    users,
  }));
  reasons.sort((a, b) => b.users - a.users);
  return { removed, kept: reasons.reduce((sum, { users }) => sum + users, 0), reasons };
}

/** Shared by all who take from it; if one of them fails, it ends for all. */
function* startsOf(total: number): Generator<number> {
  for (let from = 0; from < total; from += STRETCH) yield from;
}

interface Stretch {
  importId: string;
  members: string[] | undefined;
  from: number;
  to: number;
}

/** The users of the import who hold a role; undefined if they are too many. */
function membersOf(pool: Pool, importId: string): Promise<string[] | undefined> {
  return transaction(pool, async (db) => {
    await db.query(BY_KEY);
    const { rows } = await db.query<Named<OrgMembers, { id: 'user_id' }>>(
      `select user_id as id from (select user_id from org_members union select user_id from instance_members) m
       where (select u.import_id from users u where u.id = m.user_id) = $1 limit $2`,
      [importId, MOST_MEMBERS + 1],
    );
    return rows.length > MOST_MEMBERS ? undefined : rows.map(({ id }) => id);
  });
}

interface Judged {
  /** Null: the user would be removed. */
  kept: ImportItems['kept'];
  n: number;
}

/** An undo that is over, or has passed these users, has decided; its decision is in `kept`. */
function countKept(pool: Pool, { importId, members, from, to }: Stretch): Promise<Judged[]> {
  const kept = keptBecause(IS_CHANGED_QUICKLY, members && 'u.id = any($4::text[])');
  return transaction(pool, async (db) => {
    await db.query(BY_KEY);
    const { rows } = await db.query<Judged>(
      `select coalesce(i.kept, ${kept}) as kept, count(*)::int as n
       from import_items i left join users u on u.id = i.user_id
       where i.import_id = $1 and i.ordinal >= $2 and i.ordinal < $3 and i.state = 'succeeded'
       group by 1`,
      [importId, from, to, ...(members ? [members] : [])],
    );
    return rows;
  });
}

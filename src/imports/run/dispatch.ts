/**
 * Adds pending items (users still to be written) to the queue, one job each: a slice of each import in turn. At most a
 * window of jobs per import is in the queue at a time.
 *
 * Guarantee: the size of the queue does not depend on the size of an import. Scheduling is fair: the import with the
 * fewest queued jobs comes first, and an import's first 100 jobs jump the queue, so small imports are not stuck behind
 * large ones. SQL decides the order, not a fair queue in memory: the counts are in the database, and another process
 * may take over as the dispatcher.
 * On crash between adding jobs and moving the cursor: the same slice is added again, under the same job ids, and an
 * item settles only once.
 */
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { ImportDispatch, ImportItems } from '../../platform/db/tables.ts';
import { annotate, inImport } from '../../platform/telemetry.ts';
import type { ItemPointer, Special } from '../entries/item.ts';
import type { Queues } from '../queue/queues.ts';

export interface DispatchSettings {
  /** The most jobs of one import in the queue. */
  window: number;
  /** The most jobs added for one import before the next import has its turn. */
  slice: number;
}

/** How many jobs of an import jump the queue: more than a person types by hand, too few to hold up other imports. */
export const HEAD_START = 100;

/**
 * The window while the next item has a plain password: others wait behind it for a thread, and it takes a minute. Enough
 * for all threads of 200 workers.
 */
const PASSWORD_WINDOW = 1000;

/** SQL over `imports i`, `import_dispatch d`: jobs added since the last reset of the cursor, minus settled items. */
export const IN_QUEUE = 'd.dispatched - (i.succeeded + i.skipped + i.failed + i.undone - d.settled_before)';

/** `dispatched` are the jobs added since the cursor was last reset. */
interface Dispatchable extends Pick<ImportDispatch, 'import_id' | 'next_ordinal' | 'generation' | 'dispatched'> {
  in_queue: number;
  mode: Special | null;
  has_password: boolean;
}

/**
 * One round over all running imports. (`offset 0`: cursors are looked up, not joined with the whole table; a value
 * instead of `exists`, for which PostgreSQL may read the whole table into a hash.)
 * @returns how many running imports had items left to dispatch, and how many jobs were added
 */
export async function dispatchRound(
  deps: { pool: Pool; queues: Queues },
  settings: DispatchSettings,
): Promise<{ open: number; added: number }> {
  const { rows } = await deps.pool.query<Dispatchable>({
    name: 'dispatchable',
    text: `select d.import_id, d.next_ordinal, d.generation, d.dispatched,
        case when i.dry_run then 'dry' when i.on_existing <> 'fail' then i.on_existing::text end as mode,
        greatest(0, ${IN_QUEUE}) as in_queue,
        coalesce((select n.password_sealed is not null from import_items n
          where n.import_id = i.id and n.ordinal = d.next_ordinal), false) as has_password
      from imports i cross join lateral (select * from import_dispatch where import_id = i.id offset 0) d
      where i.state = 'running' and i.deadline > clock_timestamp() and d.next_ordinal < i.total
      order by in_queue, i.id`,
  });
  let added = 0;
  for (const row of rows) {
    const window = row.has_password ? Math.min(PASSWORD_WINDOW, settings.window) : settings.window;
    const slice = Math.min(settings.slice, window);
    const room = Math.min(slice, window - row.in_queue);
    // Each top-up costs a round trip, so wait until there is room for at least half a slice.
    if (room >= slice / 2)
      added += await inImport(row.import_id, 'import.dispatch', {}, () => dispatchSlice(deps, row, room));
  }
  return { open: rows.length, added };
}

async function dispatchSlice(
  { pool, queues }: { pool: Pool; queues: Queues },
  { import_id: importId, next_ordinal: from, generation, dispatched, mode }: Dispatchable,
  limit: number,
): Promise<number> {
  const ordinals = await pendingFrom(pool, importId, from, limit);
  annotate({ 'muster.users': ordinals.length });
  await queues.add<ItemPointer>(
    'imports',
    ordinals.map((o, i) => ({ ...pointerJob(importId, o, generation, mode), urgent: dispatched + i < HEAD_START })),
  );
  const last = ordinals.at(-1);
  await pool.query(
    `update import_dispatch d set dispatched = d.dispatched + $3, moved_at = clock_timestamp(),
       next_ordinal = coalesce($4, (select total from imports where id = $1))
     where import_id = $1 and next_ordinal = $2`,
    [importId, from, ordinals.length, last === undefined ? null : last + 1],
  );
  return ordinals.length;
}

/**
 * The job of one item. BullMQ requires that its id is not all digits and contains no colon.
 *
 * The shard number of the job spreads the items of an import over all shards of the queue, one by one: each shard has an
 * equal part of the import's window, so that another import waits no longer behind it than in a queue without shards,
 * and a batch has successive ordinals. Single items start at different shards.
 */
export function pointerJob(
  importId: string,
  ordinal: number,
  generation = 0,
  mode: Special | null = null,
): { id: string; data: ItemPointer; shardNumber: number } {
  const data = mode === null ? { i: importId, o: ordinal } : { i: importId, o: ordinal, m: mode };
  return { id: `i${importId}-${generation}-${ordinal}`, data, shardNumber: Number(importId) + ordinal };
}

async function pendingFrom(pool: Pool, importId: string, from: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<Pick<ImportItems, 'ordinal'>>({
    name: 'pending-from',
    text: `select ordinal from import_items where import_id = $1 and ordinal >= $2 and state = 'pending'
      order by ordinal limit $3`,
    values: [importId, from, limit],
  });
  return rows.map((r) => r.ordinal);
}

/**
 * Makes the dispatcher start again with the items that are still pending.
 * @param newJobs true uses new job ids, as after a resume: the old jobs may be about to end without effect, or be held
 *   by a worker that cannot write. False keeps the ids, as after lost jobs, so that a job that still exists is not
 *   added twice
 */
export async function resetCursor(db: Db, importId: string, newJobs: boolean): Promise<void> {
  await db.query(
    `update import_dispatch d set next_ordinal = 0, dispatched = 0, moved_at = clock_timestamp(),
       generation = d.generation + case when $2 then 1 else 0 end,
       settled_before = i.succeeded + i.skipped + i.failed + i.undone
     from imports i where d.import_id = $1 and i.id = $1`,
    [importId, newJobs],
  );
}

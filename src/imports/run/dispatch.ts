/**
 * Hands pending items to the queue, one job each: the next slice of the next import, never more than a window of each.
 *
 * Guarantee: the queue's size does not depend on the import's; imports take turns, who has least in the queue first, and
 * the first jobs of an import go before all that waits, so that a small one is not kept by the windows of large ones.
 * If we die between adding jobs and moving the cursor the same slice is added again: the jobs have the same ids, and an
 * item settles once whatever happens.
 */
import type { Db, Pool } from '../../db/pool.ts';
import type { Queues } from '../../queue/queues.ts';
import type { ItemPointer, Special } from '../job.ts';

export interface DispatchSettings {
  /** Most jobs of one import in the queue. */
  window: number;
  /** Most jobs added for one import before the next has its turn. */
  slice: number;
}

/** Jobs of an import that wait behind nothing: more than a person types, less than could keep others out. */
const HEAD_START = 100;

/** Jobs added since the cursor was last set, without those whose items have settled; of `imports i`, `import_dispatch d`. */
export const IN_QUEUE = 'd.dispatched - (i.succeeded + i.skipped + i.failed + i.undone - d.settled_before)';

interface Dispatchable {
  import_id: string;
  next_ordinal: number;
  generation: number;
  /** Jobs added since the cursor was last set. */
  dispatched: number;
  in_queue: number;
  mode: Special | null;
}

/**
 * One round over all running imports. (`offset 0`: their cursors are looked up, and never joined with all the others'.)
 * @returns how many imports are running with items still to hand out, and how many jobs were added
 */
export async function dispatchRound(
  deps: { pool: Pool; queues: Queues },
  settings: DispatchSettings,
): Promise<{ open: number; added: number }> {
  const { rows } = await deps.pool.query<Dispatchable>({
    name: 'dispatchable',
    text: `select d.import_id, d.next_ordinal, d.generation, d.dispatched,
        case when i.dry_run then 'dry' when i.on_existing <> 'fail' then i.on_existing::text end as mode,
        greatest(0, ${IN_QUEUE}) as in_queue
      from imports i cross join lateral (select * from import_dispatch where import_id = i.id offset 0) d
      where i.state = 'running' and i.deadline > clock_timestamp() and d.next_ordinal < i.total
      order by in_queue, i.id`,
  });
  let added = 0;
  for (const row of rows) {
    const room = Math.min(settings.slice, settings.window - row.in_queue);
    // Small top-ups cost a round trip each; wait until there is room for a good part of a slice.
    if (room >= Math.min(settings.slice, settings.window) / 2) added += await dispatchSlice(deps, row, room);
  }
  return { open: rows.length, added };
}

async function dispatchSlice(
  { pool, queues }: { pool: Pool; queues: Queues },
  { import_id: importId, next_ordinal: from, generation, dispatched, mode }: Dispatchable,
  limit: number,
): Promise<number> {
  const ordinals = await pendingFrom(pool, importId, from, limit);
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

/** The job of one item. Its id is neither all digits nor holds a colon, as BullMQ asks. */
export function pointerJob(
  importId: string,
  ordinal: number,
  generation = 0,
  mode: Special | null = null,
): { id: string; data: ItemPointer } {
  const data = mode === null ? { i: importId, o: ordinal } : { i: importId, o: ordinal, m: mode };
  return { id: `i${importId}-${generation}-${ordinal}`, data };
}

async function pendingFrom(pool: Pool, importId: string, from: number, limit: number): Promise<number[]> {
  const { rows } = await pool.query<{ ordinal: number }>({
    name: 'pending-from',
    text: `select ordinal from import_items where import_id = $1 and ordinal >= $2 and state = 'pending'
      order by ordinal limit $3`,
    values: [importId, from, limit],
  });
  return rows.map((r) => r.ordinal);
}

/**
 * Lets the dispatcher start over with what is still pending.
 * @param newJobs under new job ids, as after a resume: jobs of before may still be about to end without effect, or held by a
 *   worker that cannot write. When jobs were lost the ids stay, so that one that still exists is not doubled.
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

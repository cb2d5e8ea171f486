/**
 * Removes old events from the history of changes. What imports write, and what users change of themselves, is most of
 * the table and goes first; acts of administrators are evidence, and are kept longer.
 *
 * The table has no index on its time, as every import would pay for it. A cursor goes up its key instead: an event that
 * is older than the time has a lower sequence than all that are not, give or take the length of a transaction.
 *
 * Guarantee: one transaction reads and removes at most SWEEP_ROWS events, and passes each only once. Any number of
 * processes may sweep; one at a time moves the cursor. Nothing needs an event that is gone: the undo of an import takes
 * the times of its users instead.
 */
import { type Pool, transaction } from '../platform/db/pool.ts';
import { SWEEP_ROWS } from '../platform/db/sweep.ts';

/** SQL over `events`: an import wrote or removed the user, or the user changed themselves. */
const OF_THE_MANY = `aggregate_type = 'users' or aggregate_type = 'user' and (editor = aggregate_id
  or type in ('user.human.imported', 'user.human.updated') or type = 'user.removed' and payload ? 'importId')`;

/**
 * Passes one batch of events that imports and users made, or, with `isAll`, of all; returns how many it has passed.
 * @param days how long they are kept; 0: for ever
 */
export async function sweepEvents(pool: Pool, days: number, { isAll }: { isAll: boolean }): Promise<number> {
  if (days === 0) return 0;
  return transaction(pool, async (db) => {
    // The planner may have no statistics yet, and would read the whole table.
    await db.query('set local enable_seqscan = off');
    const { rows } = await db.query<{ passed: number }>(passing(isAll ? 'true' : OF_THE_MANY), [
      isAll ? 'admin events' : 'events',
      days,
    ]);
    return rows[0]?.passed ?? 0;
  });
}

/** @param goes SQL over `events`: it is removed, and not only passed */
function passing(goes: string): string {
  return `with cursor as materialized (select after from retention_cursors where name = $1 for update skip locked),
     batch as materialized (
       select e.sequence, e.created_at < now() - $2 * interval '1 day' as is_old, ${goes} as goes
       from cursor c cross join lateral (
         select * from events where sequence > c.after order by sequence limit ${SWEEP_ROWS}) e),
     passed as materialized (
       select sequence, goes from batch
       where sequence < coalesce((select min(sequence) from batch where not is_old), 9223372036854775807)),
     removed as (delete from events where sequence = any(array(select sequence from passed where goes))),
     moved as (
       update retention_cursors set after = (select max(sequence) from passed)
       where name = $1 and exists (select from passed))
     select count(*)::int as passed from passed`;
}

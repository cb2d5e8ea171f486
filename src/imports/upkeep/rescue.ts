/**
 * Restarts imports that have stopped making progress, ends imports past their deadline, removes abandoned uploads, and
 * counts imports that a trigger has stopped.
 *
 * Duty: a running import with pending items that has neither settled nor dispatched an item for a while has lost its
 * jobs (a flushed Redis, a dispatcher that died, jobs given up). Its cursor goes back to the start, and the pending
 * items are dispatched again. Doing this once too often is harmless, as an item settles only once.
 *
 * The first time, the jobs keep their ids, so jobs that still exist are not added twice. If still nothing settles, a
 * worker that cannot write holds the jobs, such as one that lost its database but still renews its locks. The jobs are
 * then added under new ids, for another worker. If no worker takes jobs at all, that would fill the queue; so new ids
 * are used only while the queue is no deeper than the jobs that belong there plus those that one worker may hold.
 */
import { type Pool, transaction } from '../../platform/db/pool.ts';
import type { Imports } from '../../platform/db/tables.ts';
import type { Ran } from '../../platform/telemetry.ts';
import { publishEnd, RAN } from '../entries/outcome.ts';
import { sweepAbandoned } from '../intake/accept.ts';
import { IN_QUEUE, resetCursor } from '../run/dispatch.ts';

export interface RescueSettings {
  /** An import without progress for this long, in milliseconds, is dispatched again. */
  rescueAfterMs: number;
  /** An upload without progress for this long, in milliseconds, is removed. */
  abandonedAfterMs: number;
  /** Absent: jobs held by one worker are never added under new ids for another. */
  queue?: { depth(): Promise<number>; mostHeld: number };
}

export interface Rescued {
  expired: number;
  redispatched: string[];
  swept: number;
  /** Imports whose end was not counted before. */
  counted: number;
}

/** Does one round. Any number of processes may run it at once. */
export async function rescueRound(pool: Pool, settings: RescueSettings): Promise<Rescued> {
  return {
    expired: await expireDue(pool),
    redispatched: await redispatchStuck(pool, settings),
    swept: await sweepAbandoned(pool, settings.abandonedAfterMs),
    counted: await countStopped(pool),
  };
}

/**
 * Counts imports that stopped as somebody lost the rights that they need. A trigger stops them (`stop_imports_of` in the
 * migrations) in whichever transaction takes the rights away, so no process has counted their end.
 */
async function countStopped(pool: Pool): Promise<number> {
  const { rows } = await pool.query<Ran>(
    `update imports set end_uncounted = false
     where id = any(array(select id from imports where end_uncounted order by id limit 1000 for update skip locked))
     returning ${RAN.replace('clock_timestamp()', 'coalesce(finished_at, clock_timestamp())')}`,
  );
  for (const ran of rows) publishEnd('cancelled', ran);
  return rows.length;
}

async function redispatchStuck(pool: Pool, { rescueAfterMs, queue }: RescueSettings): Promise<string[]> {
  const { rows } = await pool.query<Pick<Imports, 'id'> & { held: boolean }>(
    `select i.id, i.changed_at < clock_timestamp() - 2 * $1 * interval '1 millisecond' as held
     from imports i cross join lateral (select * from import_dispatch where import_id = i.id offset 0) d
     where i.state = 'running' and i.deadline > clock_timestamp() and d.next_ordinal > 0
       and greatest(i.changed_at, d.moved_at) < clock_timestamp() - $1 * interval '1 millisecond'`,
    [rescueAfterMs],
  );
  const depth = rows.some((r) => r.held) ? await depthOf(queue) : 0;
  for (const { id, held } of rows) await resetCursor(pool, id, held && depth < (await mostJobs(pool, queue)));
  return rows.map((r) => r.id);
}

/** Infinity when the queue is unavailable, as it cannot accept jobs anyway. */
async function depthOf(queue: RescueSettings['queue']): Promise<number> {
  return (await queue?.depth().catch(() => undefined)) ?? Number.POSITIVE_INFINITY;
}

/** The most jobs the queue may hold: those dispatched and not settled, plus those that a stuck worker may hold. */
async function mostJobs(pool: Pool, queue: RescueSettings['queue']): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select coalesce(sum(greatest(0, ${IN_QUEUE})), 0)::float8 as n
     from imports i join import_dispatch d on d.import_id = i.id where i.state = 'running'`,
  );
  return (rows[0]?.n ?? 0) + (queue?.mostHeld ?? 0);
}

/** Ends every import whose deadline has passed; returns how many it found. */
export async function expireDue(pool: Pool): Promise<number> {
  const { rows } = await pool.query<Pick<Imports, 'id'>>(
    `select id from imports where state = 'running' and deadline <= clock_timestamp()`,
  );
  for (const { id } of rows) await expireImport(pool, id);
  return rows.length;
}

/**
 * Ends one import if its deadline has passed; returns whether it did. Locks the import's row first, so it waits for a
 * commit in progress and prevents any later one: once TIMED_OUT has been shown, no further user appears. Readers call
 * it too (status/progress.ts), so no process has to be alive at the deadline.
 */
export async function expireImport(pool: Pool, importId: string): Promise<boolean> {
  const ran = await transaction(pool, async (db) => {
    await db.query('select from imports where id = $1 for update', [importId]);
    const { rows } = await db.query<Ran>(
      `update imports set state = 'timed_out', changed_at = clock_timestamp(), finished_at = clock_timestamp()
       where id = $1 and state = 'running' and deadline <= clock_timestamp() returning ${RAN}`,
      [importId],
    );
    if (rows[0]) await db.query(`select pg_notify('muster_import', $1)`, [importId]);
    return rows[0];
  });
  publishEnd('timed_out', ran);
  return ran !== undefined;
}

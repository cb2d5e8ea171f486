/**
 * Whatever stopped moving moves again.
 *
 * Duty: an import that runs, has pending items and has neither settled nor been dispatched for a while lost its jobs (a
 * flushed Redis, a dispatcher that died, jobs given up): its cursor goes back to the start, and what is pending is handed
 * out again. Doing it once too often is harmless, as an item settles once.
 *
 * The same jobs are added first: those that still exist are not doubled. If nothing settles after that either, somebody holds
 * them who cannot write, such as a worker that lost its database but still renews its locks. Then they are added under new
 * ids, for another worker. While no worker takes jobs at all that would fill the queue, so it ends when the queue holds more
 * jobs beyond those that it should than a worker may hold.
 */
import type { Pool } from '../../db/pool.ts';
import { sweepAbandoned } from '../intake/accept.ts';
import { IN_QUEUE, resetCursor } from '../run/dispatch.ts';
import { expireDue } from './deadline.ts';

export interface RescueSettings {
  /** An import that has not moved for this long, in milliseconds, is dispatched anew. */
  rescueAfterMs: number;
  /** An upload that has not moved for this long, in milliseconds, is removed. */
  abandonedAfterMs: number;
  /** Absent: jobs that somebody holds are not handed to another worker. */
  queue?: { depth(): Promise<number>; mostHeld: number };
}

export interface Rescued {
  expired: number;
  redispatched: string[];
  swept: number;
}

/** One round; any number of processes may run it at once. */
export async function rescueRound(pool: Pool, settings: RescueSettings): Promise<Rescued> {
  return {
    expired: await expireDue(pool),
    redispatched: await redispatchStuck(pool, settings),
    swept: await sweepAbandoned(pool, settings.abandonedAfterMs),
  };
}

async function redispatchStuck(pool: Pool, { rescueAfterMs, queue }: RescueSettings): Promise<string[]> {
  const { rows } = await pool.query<{ id: string; held: boolean }>(
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

/** A queue that is away takes no job anyway. */
async function depthOf(queue: RescueSettings['queue']): Promise<number> {
  return (await queue?.depth().catch(() => undefined)) ?? Number.POSITIVE_INFINITY;
}

/** Those that were last handed out and have not settled, and as many as a worker that cannot write may hold. */
async function mostJobs(pool: Pool, queue: RescueSettings['queue']): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select coalesce(sum(greatest(0, ${IN_QUEUE})), 0)::float8 as n
     from imports i join import_dispatch d on d.import_id = i.id where i.state = 'running'`,
  );
  return (rows[0]?.n ?? 0) + (queue?.mostHeld ?? 0);
}

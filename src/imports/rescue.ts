/**
 * Whatever stopped moving moves again.
 *
 * Duty: an import that runs, has pending items and has neither settled nor been dispatched for a while lost its jobs (a
 * flushed Redis, a dispatcher that died, jobs given up): its cursor goes back to the start, and what is pending is handed
 * out again. Doing it once too often is harmless, as an item settles once.
 */
import type { Pool } from '../db/pool.ts';
import { sweepAbandoned } from './accept.ts';
import { expireDue } from './deadline.ts';
import { resetCursor } from './dispatch.ts';

export interface RescueSettings {
  /** An import that has not moved for this long, in milliseconds, is dispatched anew. */
  rescueAfterMs: number;
  /** An upload that has not moved for this long, in milliseconds, is removed. */
  abandonedAfterMs: number;
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
    redispatched: await redispatchStuck(pool, settings.rescueAfterMs),
    swept: await sweepAbandoned(pool, settings.abandonedAfterMs),
  };
}

async function redispatchStuck(pool: Pool, afterMs: number): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select i.id from imports i join import_dispatch d on d.import_id = i.id
     where i.state = 'running' and i.deadline > clock_timestamp() and d.next_ordinal > 0
       and greatest(i.changed_at, d.moved_at) < clock_timestamp() - $1 * interval '1 millisecond'`,
    [afterMs],
  );
  for (const { id } of rows) await resetCursor(pool, id, false);
  return rows.map((r) => r.id);
}

/**
 * Looks for work for all loops of this process: one statement instead of one for each loop.
 *
 * Guarantee: a loop that waits here starts its round within LOOK_MS of the work being there. An answer is always from a
 * look that began after the loop began to wait. When a look fails, all loops start: their own statements then fail too,
 * and say so.
 * On crash: nothing is lost; a look only reads.
 */
import { type Db, prepared } from '../src/db/pool.ts';
import type { Pause } from './loop.ts';

export const LOOK_MS = 80;

// Each part reads a few entries of a small partial index: held mails and mails to be tried again later are not counted.
const LOOK = `
select exists (select from imports where state = 'running') as dispatch,
  exists (select from imports where state in ('receiving', 'running')) as rescue,
  exists (select from imports where state = 'undoing') as undo,
  exists (select from mail_outbox where state = 'pending' and import_id is null and next_attempt_at <= now())
    or exists (select from mail_outbox where state = 'pending' and import_id is not null) as mail,
  exists (
    select from import_drafts
    where (state = 'converting' or state = 'checking' and check_id is null) and expires_at > clock_timestamp()
      and (held_until is null or held_until < clock_timestamp())) as convert,
  exists (select from webhook_deliveries where state = 'pending' and next_attempt_at <= now()) as webhook`;

export type Work = 'dispatch' | 'rescue' | 'undo' | 'mail' | 'convert' | 'webhook';

export interface WaitLimits {
  /** Ignores work until then, in milliseconds. */
  afterMs?: number;
  /** Waits no longer, in milliseconds. */
  withinMs?: number;
}

export interface Look {
  /** A pause of a loop that ends when there may be work of this kind. */
  until(work: Work, limits?: WaitLimits): Pause;
}

interface Waiter {
  work: Work;
  /** By `performance.now()`. */
  from: number;
  wake: () => void;
}

/** It looks only while a loop waits, so there is nothing to close. */
export function openLook(db: Db): Look {
  const waiting = new Set<Waiter>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    isLooking = true;
    const asking = [...waiting].filter(({ from }) => from <= performance.now());
    const found = await findWork(db).catch(() => undefined); // the loops will say so
    isLooking = false;
    lookedAt = performance.now();
    for (const waiter of asking) if (!found || found[waiter.work]) waiter.wake();
    plan();
  }

  function plan(): void {
    clearTimeout(timer);
    if (isLooking || waiting.size === 0) return;
    const first = Math.min(...Array.from(waiting, ({ from }) => from));
    timer = setTimeout(look, Math.max(0, Math.max(first, lookedAt + LOOK_MS) - performance.now()));
  }

  return {
    until(work, { afterMs = 0, withinMs } = {}) {
      return (wake) => {
        const waiter = { work, from: performance.now() + afterMs, wake };
        const limit = withinMs === undefined ? undefined : setTimeout(wake, withinMs);
        waiting.add(waiter);
        plan();
        return () => {
          clearTimeout(limit);
          waiting.delete(waiter);
          if (waiting.size === 0) clearTimeout(timer);
        };
      };
    },
  };
}

/** Which kinds of work there may be. */
export async function findWork(db: Db): Promise<Record<Work, boolean>> {
  const { rows } = await db.query<Record<Work, boolean>>(prepared(LOOK, []));
  return rows[0] as Record<Work, boolean>; // without a table in `from` there is one row
}

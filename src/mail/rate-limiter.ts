/**
 * One rate limit for all processes that send: each mail gets its own time slot, evenly spaced after the one before.
 *
 * The next free slot is a row of the database. Each request moves it ahead by the number of slots it takes. It never
 * lies in the past: unused slots are lost, not saved up (a leaky bucket of one, the Generic Cell Rate Algorithm of
 * ITU-T I.371). The row is never further ahead than MOST_AHEAD, even after crashes and changes of the clock.
 *
 * On crash: the slots of the process are lost; no other process gets them.
 */
import type { Db } from '../db/pool.ts';

export interface RateLimiter {
  /** Resolves to true when one more mail may go, to false when stopped. @throws when the database cannot be reached */
  turn(): Promise<boolean>;
  /** Ends all waits. */
  stop(): void;
}

interface Turn {
  resolve(may: boolean): void;
  reject(error: unknown): void;
}

/** More than all processes together take ahead in normal operation: each takes the slots of about a second. */
const MOST_AHEAD = '60 seconds';

/** @param rate mails a second over all processes */
export function openRateLimiter(db: Db, rate: number): RateLimiter {
  let asking: Turn[] = [];
  let isStopped = false;
  const waiting = new Map<NodeJS.Timeout, Turn>();

  async function take(): Promise<void> {
    const turns = asking;
    asking = [];
    try {
      const first = await firstOf(db, turns.length, rate);
      for (const [n, turn] of turns.entries()) wait(turn, Math.ceil(first + (n * 1000) / rate));
    } catch (error) {
      for (const { reject } of turns) reject(error);
    }
  }
  function wait(turn: Turn, ms: number): void {
    if (isStopped) {
      turn.resolve(false);
      return;
    }
    const timer = setTimeout(() => {
      waiting.delete(timer);
      turn.resolve(true);
    }, ms);
    waiting.set(timer, turn);
  }
  return {
    turn: () =>
      new Promise((resolve, reject) => {
        if (asking.length === 0) setImmediate(() => void take());
        asking.push({ resolve, reject });
      }),
    stop() {
      isStopped = true;
      for (const [timer, turn] of waiting) {
        clearTimeout(timer);
        turn.resolve(false);
      }
      waiting.clear();
    },
  };
}

/** Milliseconds until the first of `count` slots. */
async function firstOf(db: Db, count: number, rate: number): Promise<number> {
  const { rows } = await db.query<{ ms: number }>({
    name: 'mail-pace',
    text: `insert into mail_pace as p (name, free_at) values ('mails', clock_timestamp() + $1 * interval '1 second')
      on conflict (name) do update set free_at = $1 * interval '1 second' +
        least(greatest(p.free_at, clock_timestamp()), clock_timestamp() + interval '${MOST_AHEAD}')
      returning (extract(epoch from free_at - clock_timestamp()) - $1)::float8 * 1000 as ms`,
    values: [count / rate],
  });
  return Math.max(0, rows[0]?.ms ?? 0);
}

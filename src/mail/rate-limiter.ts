/**
 * One rate for all processes that send: each mail has a moment of its own at which it may go, evenly after the one before.
 *
 * The next free moment is a row of the database. It moves on by what is asked for at once, and never lies in the past: what
 * was not used is lost, not saved up (a leaky bucket of one, the Generic Cell Rate Algorithm of ITU-T I.371).
 * If we die the moments that we had are lost; nobody else gets them. The row is never further ahead than MOST_AHEAD, whoever dies
 * and whatever happens to the clock.
 */
import type { Db } from '../db/pool.ts';

export interface RateLimiter {
  /** Resolves when one more mail may go, or false when it was stopped before. @throws when the database cannot be reached */
  turn(): Promise<boolean>;
  /** Nobody waits any longer. */
  stop(): void;
}

interface Turn {
  resolve(may: boolean): void;
  reject(error: unknown): void;
}

/** Longer than all processes together wait for: each asks for about a second's worth. */
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

/** In how many milliseconds the first of `count` moments is. */
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

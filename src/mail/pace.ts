/**
 * One rate for all processes that send: each mail has a moment of its own at which it may go, evenly after the one before.
 *
 * The next free moment is a row of the database. It moves on by what is asked for at once, and never lies in the past: what
 * was not used is lost, not saved up (a leaky bucket of one, the Generic Cell Rate Algorithm of ITU-T I.371).
 * If we die the moments that we had are lost; nobody else gets them.
 */
import type { Db } from '../db/pool.ts';

interface Turn {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * @param rate mails a second over all processes
 * @returns what resolves when one more mail may go; it rejects when the database cannot be reached
 */
export function openPace(db: Db, rate: number): () => Promise<void> {
  let asking: Turn[] = [];

  async function take(): Promise<void> {
    const turns = asking;
    asking = [];
    try {
      const first = await firstOf(db, turns.length, rate);
      for (const [n, { resolve }] of turns.entries()) setTimeout(resolve, Math.ceil(first + (n * 1000) / rate));
    } catch (error) {
      for (const { reject } of turns) reject(error);
    }
  }
  return () =>
    new Promise((resolve, reject) => {
      if (asking.length === 0) setImmediate(() => void take());
      asking.push({ resolve, reject });
    });
}

/** In how many milliseconds the first of `count` moments is. */
async function firstOf(db: Db, count: number, rate: number): Promise<number> {
  const { rows } = await db.query<{ ms: number }>({
    name: 'mail-pace',
    text: `insert into mail_pace as p (name, free_at) values ('mails', clock_timestamp() + $1 * interval '1 second')
      on conflict (name) do update set free_at = greatest(p.free_at, clock_timestamp()) + $1 * interval '1 second'
      returning (extract(epoch from free_at - clock_timestamp()) - $1)::float8 * 1000 as ms`,
    values: [count / rate],
  });
  return Math.max(0, rows[0]?.ms ?? 0);
}

import { createHash } from 'node:crypto';
import { type IncrementResponse, MemoryStore, type Options, type Store } from 'express-rate-limit';
import { type Db, prepared } from '../db/pool.ts';
import { sweepRows } from '../db/sweep.ts';
import { ApiError } from '../errors.ts';
import { withTimeout } from '../timeouts.ts';

/**
 * How many attempts each address has made within a minute, counted for all API processes together: the store of
 * RATE_LIMIT_LOGINS, and of what is limited apart from it (`countWithin`), such as wrong codes.
 *
 * Guarantee: an address costs the database at most as many writes in a window as it may make attempts, and one for each
 * process, because a process remembers the addresses that are over the limit. While the database does not answer
 * within ANSWER_MS, the process counts alone. Addresses are stored as hashes, for little longer than their window.
 * On crash: the counts remain; after a crash of the database they start at 0, as the table is not in its log.
 */

const ANSWER_MS = 1000;
/** Addresses that are over the limit, remembered by this process. */
const MOST_REMEMBERED = 10_000;

/** @param limit attempts in a window */
export function sharedCounts(db: Db, limit: number): Store {
  const alone = new MemoryStore();
  const over = new Map<string, IncrementResponse>();
  let windowMs = 0;

  function remembered(key: string): IncrementResponse | undefined {
    const found = over.get(key);
    if (!found || Number(found.resetTime) > Date.now()) return found;
    over.delete(key);
    return undefined;
  }

  async function count(key: string): Promise<IncrementResponse> {
    const { attempts, ms } = await withTimeout(addAttempt(db, key, windowMs), ANSWER_MS, 'the database');
    const counted = { totalHits: attempts, resetTime: new Date(Date.now() + ms) };
    if (attempts > limit) remember(key, counted);
    return counted;
  }

  function remember(key: string, counted: IncrementResponse): void {
    const [oldest] = over.keys();
    if (over.size >= MOST_REMEMBERED && oldest !== undefined) over.delete(oldest);
    over.set(key, counted);
  }

  return {
    init(options: Options) {
      windowMs = options.windowMs;
      alone.init(options);
    },
    increment: (key) => remembered(key) ?? count(key).catch(() => alone.increment(key)),
    // Nothing here takes attempts back.
    decrement: (key) => alone.decrement(key),
    resetKey: (key) => alone.resetKey(key),
    shutdown: () => alone.shutdown(),
  };
}

interface Counted {
  attempts: number;
  /** Until the count starts again. */
  ms: number;
}

const IS_OVER = 'a.ends_at <= clock_timestamp()';

async function addAttempt(db: Db, key: string, windowMs: number): Promise<Counted> {
  const text = `insert into attempt_counts as a (address, attempts, ends_at)
    values ($1, 1, clock_timestamp() + $2 * interval '1 millisecond')
    on conflict (address) do update set attempts = case when ${IS_OVER} then 1 else a.attempts + 1 end,
      ends_at = case when ${IS_OVER} then excluded.ends_at else a.ends_at end
    returning attempts, ceil(extract(epoch from ends_at - clock_timestamp()) * 1000)::float8 as ms`;
  const { rows } = await db.query<Counted>(prepared(text, [hashOf(key), windowMs]));
  return rows[0] as Counted;
}

/** 64 bits, so that nobody finds an address that shares its count with another one. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest().readBigInt64BE().toString();
}

/**
 * Counts attempts that are no requests of their own, for all processes together.
 * @param key says what is counted, and of whom
 * @throws ApiError 429 RATE-LIMIT
 */
export async function countWithin(
  db: Db,
  key: string,
  { limit, windowMs, message }: { limit: number; windowMs: number; message: string },
): Promise<void> {
  const { attempts, ms } = await addAttempt(db, key, windowMs);
  if (attempts <= limit) return;
  const retryAfterS = Math.max(1, Math.ceil(ms / 1000));
  throw new ApiError('RESOURCE_EXHAUSTED', 'RATE-LIMIT', message, { retryAfterS });
}

/** Takes back what `countWithin` has counted. */
export async function discount(db: Db, key: string): Promise<void> {
  const text = 'update attempt_counts set attempts = attempts - 1 where address = $1 and attempts > 0';
  await db.query(prepared(text, [hashOf(key)]));
}

/** Removes one batch of counts whose window is over; returns how many. */
export function sweepAttempts(db: Db): Promise<number> {
  return sweepRows(db, { table: 'attempt_counts', where: 'ends_at < now()', order: 'ends_at' });
}

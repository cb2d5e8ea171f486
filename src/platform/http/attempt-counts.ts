/**
 * How many attempts each address has made within a minute, counted for all API processes together: the store of
 * RATE_LIMIT_LOGINS.
 *
 * Guarantee: an address costs the database at most as many writes in a window as it may make attempts, and one for each
 * process, because a process remembers the addresses that are over the limit. While the database does not answer
 * within ANSWER_MS, the process counts alone. Addresses are stored as hashes, for little longer than their window.
 * On crash: the counts remain; after a crash of the database they start at 0, as the table is not in its log.
 */
import { type IncrementResponse, MemoryStore, type Options, type Store } from 'express-rate-limit';
import { addAttempt } from '../db/counts.ts';
import type { Db } from '../db/pool.ts';
import { withTimeout } from '../timeouts.ts';

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

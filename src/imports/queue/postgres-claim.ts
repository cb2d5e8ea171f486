import { readFileSync } from 'node:fs';
import type pg from 'pg';
import type { Db } from '../../platform/db/pool.ts';
import { alone, answer, type Call, gather, hasKnownFunctions, type RunQuery } from './batching.ts';
import { COMPLETE, complete } from './postgres-complete.ts';
/** Fetches of jobs that share one statement: that of postgres-claim.sql. */

/** What the calls contain of BullMQ's that are batched. */
export const CLAIM = 'move_to_active(';

const TEXT = readFileSync(new URL('postgres-claim.sql', import.meta.url), 'utf8');
/** Positions of the parameters: see `move_to_active` of BullMQ. */
const [QUEUE, TOKEN, LOCK_MS, NOW, WORKER, LIMITER_MAX] = [0, 1, 2, 3, 4, 5] as const;

/** Settles every call. A single one is sent as it is. */
export async function claim(run: RunQuery, calls: Call[]): Promise<void> {
  if (calls.length > 1 && isAlike(calls) && (await claimTogether(run, calls))) return;
  await Promise.all(calls.map((call) => alone(run, call)));
}

/** Whether one statement may fetch for all: same queue, and no rate limiter. */
function isAlike(calls: Call[]): boolean {
  const [first] = calls as [Call];
  return calls.every(
    ({ values }) =>
      values[LIMITER_MAX] === null && [QUEUE, LOCK_MS, WORKER].every((place) => values[place] === first.values[place]),
  );
}

/** Returns whether the shared statement fetched for them. */
async function claimTogether(run: RunQuery, calls: Call[]): Promise<boolean> {
  const [{ values: first }] = calls as [Call];
  const tokens = calls.map(({ values }) => values[TOKEN]);
  const now = Math.max(...calls.map(({ values }) => Number(values[NOW])));
  const values = [first[QUEUE], tokens, now, first[LOCK_MS], first[WORKER]];
  // On any error everything is rolled back, and the separate calls report it.
  const { rows } = await run({ name: 'claim-batch', text: TEXT, values }).catch(() => ({ rows: [] }));
  return answer(calls, rows);
}

/**
 * A pool for BullMQ's PostgreSQL backend that fetches and completes jobs in batches.
 *
 * BullMQ fetches each job by a statement and a commit of its own, `move_to_active`, and completes it by another one,
 * `move_to_completed_fetch`, which also hands out the next job. Calls of the same turn of the event loop share one
 * statement, as do those that arrive while earlier ones are in progress. Locks, stalls, retries, limits and events stay
 * BullMQ's.
 *
 * Patches `query` of one pool of pg 8.23, and recognises the statements by their text: BullMQ has no interface for batched
 * calls. The tests of this folder fail when BullMQ no longer sends these statements.
 * Guarantee: a call that is alone in its turn is sent as it is. One bad job fails alone (postgres-complete.ts). Functions
 * that Muster does not know are never batched (`hasKnownFunctions`).
 * On crash: the jobs' locks expire, as they do without batching.
 */

const MOST_AT_ONCE = 200;
/** Maximum number of statements in progress: one executes while the other commits. */
const STATEMENTS = 2;

/**
 * Makes `pool` batch its calls. Returns the same pool; the caller ends it.
 * @param warn is called once when the functions of the database are not those that Muster batches
 */
export function batchCalls(pool: pg.Pool, warn: (reason: string) => void): pg.Pool {
  const run = pool.query.bind(pool) as unknown as RunQuery;
  const limits = { mostAtOnce: MOST_AT_ONCE, mostStatements: STATEMENTS };
  const gathered = {
    [CLAIM]: gather({ ...limits, send: (calls) => claim(run, calls) }),
    [COMPLETE]: gather({ ...limits, send: (calls) => complete(run, calls) }),
  };
  /** Undefined until the check that the first call starts is done; nothing is batched before. */
  let isKnown: boolean | undefined;
  let checking = false;

  function check(): void {
    if (checking) return;
    checking = true;
    hasKnownFunctions({ query: run } as Db, 'complete')
      .then((known) => {
        isKnown = known;
        if (!known) {
          warn(
            "BullMQ's functions in the database are not the version that Muster batches. Jobs are completed one by one, which is slower.",
          );
        }
      })
      .catch(() => {}) // the pool's own statements report the error; the next call checks again
      .finally(() => {
        checking = false;
      });
  }

  pool.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
    const part = typeof text === 'string' && Array.isArray(values) && PARTS.find((one) => text.includes(one));
    if (!part) return (run as (...args: unknown[]) => unknown)(text, values, ...rest);
    if (isKnown === undefined) check();
    if (!isKnown) return run(text, values as unknown[]);
    return new Promise((resolve, reject) => {
      gathered[part]({ text: text as string, values: values as unknown[], resolve, reject });
    });
  }) as typeof pool.query;
  return pool;
}

const PARTS = [CLAIM, COMPLETE] as const;

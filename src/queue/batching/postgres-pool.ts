/**
 * A pool for BullMQ's PostgreSQL backend that completes jobs in batches.
 *
 * BullMQ completes each job by a statement and a commit of its own, `move_to_completed_fetch`, which also hands out the
 * next job. Completions that arrive while an earlier one is in progress wait for it, and then share one statement.
 * Locks, stalls, retries, limits and events stay BullMQ's.
 *
 * Patches `query` of one pool of pg 8.23, and recognises the statement by its text: BullMQ has no interface for batched
 * completions. The tests of this folder fail when BullMQ no longer sends this statement.
 * Guarantee: a single completion is sent at once. Where the shared statement does not apply (postgres-complete.sql),
 * BullMQ's function is called for each job, all in one commit. If it rejects a job (its lock was lost), or another
 * transaction holds one of the rows, that commit is rolled back, and each job is completed separately: one bad job
 * fails alone. Functions that Muster does not know are never batched (bullmq-scripts.ts).
 * On crash: the jobs' locks expire, as they do without batching.
 */
import type pg from 'pg';
import type { Db } from '../../db/pool.ts';
import { hasKnownFunctions } from './bullmq-scripts.ts';
import { completeBatch } from './postgres-complete.ts';

const MOST_AT_ONCE = 200;
/** Each call must skip the jobs that earlier calls of its transaction claimed: more calls cost more than they save. */
const MOST_CALLS = 32;
/** Maximum number of statements in progress: one executes while the other commits. */
const STATEMENTS = 2;

const CALL = 'move_to_completed_fetch(';
// Rows are locked at once or not at all, as in postgres-complete.sql; the function's first argument ensures the order.
const CALLS = `with held as materialized (
    select from job where queue = any($1) and id = any($2) for update nowait),
  ready as materialized (select count(*) as jobs from held)
select c.ord, j.*
from ready, unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::bigint[], $6::boolean[], $7::bigint[], $8::integer[],
    $9::bigint[], $10::bigint[], $11::text[], $12::integer[], $13::bigint[])
  with ordinality as c (a, b, c, d, e, f, g, h, i, j, k, l, m, ord),
  lateral move_to_completed_fetch(
    case when ready.jobs >= 0 then c.a end, c.b, c.c, c.d, c.e, c.f, c.g, c.h, c.i, c.j, c.k, c.l, c.m) as j`;
const PARAMETERS = 13;
/** Positions of the parameters: see move_to_completed_fetch.sql in BullMQ. */
const [QUEUE, ID, TOKEN, RESULT, REMOVE_ALL, LOCK_MS, NOW, WORKER, LIMITER_MAX] = [
  0, 1, 2, 3, 5, 8, 9, 10, 11,
] as const;

interface Completion {
  text: string;
  values: readonly unknown[];
  resolve(result: { rows: unknown[] }): void;
  reject(error: unknown): void;
}

type Row = Record<string, unknown>;
type RunQuery = (query: unknown, values?: readonly unknown[]) => Promise<{ rows: Row[] }>;

/**
 * Makes `pool` batch completions. Returns the same pool; the caller ends it.
 * @param warn is called once when the functions of the database are not those that Muster batches
 */
export function batchCompletions(pool: pg.Pool, warn: (reason: string) => void): pg.Pool {
  const run = pool.query.bind(pool) as unknown as RunQuery;
  const waiting: Completion[] = [];
  let underWay = 0;
  /** Undefined until the check that the first completion starts is done; nothing is batched before. */
  let isKnown: boolean | undefined;
  let checking = false;

  function check(): void {
    if (checking) return;
    checking = true;
    hasKnownFunctions({ query: run } as Db)
      .then((known) => {
        isKnown = known;
        if (!known) {
          warn(
            "BullMQ's functions in the database are not the version that Muster batches. Jobs are completed one by one, which is slower.",
          );
        }
      })
      .catch(() => {}) // the pool's own statements report the error; the next completion checks again
      .finally(() => {
        checking = false;
      });
  }

  function next(): void {
    while (underWay < STATEMENTS && waiting.length > 0) {
      underWay++;
      void complete(run, waiting.splice(0, MOST_AT_ONCE)).finally(() => {
        underWay--;
        next();
      });
    }
  }

  pool.query = ((text: unknown, values: unknown, ...rest: unknown[]) => {
    if (typeof text !== 'string' || !text.includes(CALL) || !Array.isArray(values)) {
      return (run as (...args: unknown[]) => unknown)(text, values, ...rest);
    }
    if (isKnown === undefined) check();
    if (!isKnown) return run(text, values);
    return new Promise((resolve, reject) => {
      waiting.push({ text, values, resolve, reject });
      next();
    });
  }) as typeof pool.query;
  return pool;
}

async function complete(run: RunQuery, completions: Completion[]): Promise<void> {
  if (completions.length === 1) return alone(run, completions[0] as Completion);
  if (isAlike(completions) && (await completeInBatch(run, completions))) return;
  for (let from = 0; from < completions.length; from += MOST_CALLS) {
    await oneByOne(run, completions.slice(from, from + MOST_CALLS));
  }
}

/** Whether one statement may complete all: same queue, no rate limiter, and the jobs are removed when they end. */
function isAlike(completions: Completion[]): boolean {
  const [first] = completions as [Completion];
  return completions.every(
    ({ values }) =>
      values[REMOVE_ALL] === true &&
      values[LIMITER_MAX] === null &&
      [QUEUE, LOCK_MS, WORKER].every((place) => values[place] === first.values[place]),
  );
}

/** Returns whether the shared statement completed them. */
async function completeInBatch(run: RunQuery, completions: Completion[]): Promise<boolean> {
  const [{ values: first }] = completions as [Completion];
  const common = {
    queue: first[QUEUE] as string,
    lockMs: first[LOCK_MS],
    now: Math.max(...completions.map(({ values }) => Number(values[NOW]))),
    workerName: first[WORKER],
  };
  const endings = completions.map(({ values }) => ({
    id: values[ID] as string,
    token: values[TOKEN] as string,
    result: values[RESULT],
  }));
  // On any error everything is rolled back, and the separate calls report it.
  const { rows } = await run(completeBatch(common, endings)).catch(() => ({ rows: [] }));
  for (const [i, row] of rows.entries()) completions[i]?.resolve({ rows: [withoutOrder(row)] });
  return rows.length > 0;
}

/** Calls BullMQ's function for each job, in one statement. */
async function oneByOne(run: RunQuery, completions: Completion[]): Promise<void> {
  try {
    const { rows } = await run(CALLS, columns(completions));
    const byCompletion = new Map(rows.map((row) => [Number(row.ord), withoutOrder(row)]));
    for (const [i, { resolve }] of completions.entries()) {
      const job = byCompletion.get(i + 1);
      resolve({ rows: job ? [job] : [] });
    }
  } catch {
    // Everything was rolled back: the separate calls report what is wrong.
    await Promise.all(completions.map((completion) => alone(run, completion)));
  }
}

async function alone(run: RunQuery, { text, values, resolve, reject }: Completion): Promise<void> {
  await run(text, values).then(resolve, reject);
}

function withoutOrder({ ord, ...job }: Row): Row {
  return job;
}

/** One array per parameter, with a value for each completion. */
function columns(completions: Completion[]): unknown[][] {
  return Array.from({ length: PARAMETERS }, (_, p) => completions.map(({ values }) => values[p] ?? null));
}

import { readFileSync } from 'node:fs';
import { alone, answer, type Call, type RunQuery } from './batching.ts';

/**
 * Completions that share one statement: that of postgres-complete.sql, or calls of BullMQ's function in one commit.
 *
 * Guarantee: where the shared statement does not apply (postgres-complete.sql), BullMQ's function is called for each job, all
 * in one commit. If it rejects a job (its lock was lost), or another transaction holds one of the rows, that commit is
 * rolled back, and each job is completed separately: one bad job fails alone.
 */

const TEXT = readFileSync(new URL('postgres-complete.sql', import.meta.url), 'utf8');
/** Each call must skip the jobs that earlier calls of its transaction claimed: more calls cost more than they save. */
const MOST_CALLS = 32;

/** What the calls contain of BullMQ's that are batched. */
export const COMPLETE = 'move_to_completed_fetch(';
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
/** Positions of the parameters: see `move_to_completed_fetch` of BullMQ. */
const [QUEUE, ID, TOKEN, RESULT, REMOVE_ALL, LOCK_MS, NOW, WORKER, LIMITER_MAX] = [
  0, 1, 2, 3, 5, 8, 9, 10, 11,
] as const;

/** A completed job, and the token of its lock. */
export interface Ending {
  id: string;
  token: string;
  /** JSON. */
  result: unknown;
}

/** What is the same for all jobs of one statement. */
export interface BatchOptions {
  queue: string;
  lockMs: unknown;
  now: number;
  workerName: unknown;
}

/** The statement; its rows are explained in postgres-complete.sql. */
export function completeBatch({ queue, lockMs, now, workerName }: BatchOptions, endings: Ending[]) {
  const ids = endings.map(({ id }) => id);
  const tokens = endings.map(({ token }) => token);
  const results = endings.map(({ result }) => result ?? 'null');
  return { name: 'complete-batch', text: TEXT, values: [queue, ids, tokens, results, now, lockMs, workerName] };
}

/** Settles every call. A single one is sent as it is. */
export async function complete(run: RunQuery, completions: Call[]): Promise<void> {
  if (completions.length === 1) return alone(run, completions[0] as Call);
  if (isAlike(completions) && (await completeInBatch(run, completions))) return;
  for (let from = 0; from < completions.length; from += MOST_CALLS) {
    await oneByOne(run, completions.slice(from, from + MOST_CALLS));
  }
}

/** Whether one statement may complete all: same queue, no rate limiter, and the jobs are removed when they end. */
function isAlike(completions: Call[]): boolean {
  const [first] = completions as [Call];
  return completions.every(
    ({ values }) =>
      values[REMOVE_ALL] === true &&
      values[LIMITER_MAX] === null &&
      [QUEUE, LOCK_MS, WORKER].every((place) => values[place] === first.values[place]),
  );
}

/** Returns whether the shared statement completed them. */
async function completeInBatch(run: RunQuery, completions: Call[]): Promise<boolean> {
  const [{ values: first }] = completions as [Call];
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
  return answer(completions, rows);
}

/** Calls BullMQ's function for each job, in one statement. */
async function oneByOne(run: RunQuery, completions: Call[]): Promise<void> {
  try {
    const { rows } = await run(CALLS, columns(completions));
    answer(completions, [{ holds: true }, ...rows]);
  } catch {
    // Everything was rolled back: the separate calls report what is wrong.
    await Promise.all(completions.map((completion) => alone(run, completion)));
  }
}

/** One array per parameter, with a value for each completion. */
function columns(completions: Call[]): unknown[][] {
  return Array.from({ length: PARAMETERS }, (_, p) => completions.map(({ values }) => values[p] ?? null));
}

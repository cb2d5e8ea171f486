/**
 * A pool for BullMQ's PostgreSQL backend that completes jobs together.
 *
 * BullMQ ends each job with a statement and a commit of its own, `move_to_completed_fetch`, which also hands out the
 * next job. Completions that come while an earlier one is under way wait for it and then go as one statement. Nothing
 * else is touched: locks, stalls, retries, limits and events stay BullMQ's.
 *
 * Guarantee: a lone completion goes at once. What the one statement does not do (postgres-complete.ts) BullMQ's function
 * does for each, all in one commit; where it refuses one (its lock was lost), or somebody else holds one of the rows, that
 * is undone too and each job is completed by itself: one bad job fails alone. If we die here the jobs' locks run out, as
 * they do without us.
 */
import type pg from 'pg';
import { completeTogether } from './postgres-complete.ts';

const MOST_AT_ONCE = 200;
/** A claim of BullMQ's looks past the rows that its own transaction claimed before, so more cost more than they save. */
const MOST_CALLS = 32;
/** Statements under way: one to work while the other commits. */
const STATEMENTS = 2;

const CALL = 'move_to_completed_fetch(';
// Locked first or not at all, as in postgres-complete.ts; the function's first argument makes sure of the order.
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
/** Places among the parameters: see move_to_completed_fetch.sql in BullMQ. */
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

/** Makes `pool` merge completions; it is the same pool, and whoever opened it ends it. */
export function mergeCompletions(pool: pg.Pool): pg.Pool {
  const run = pool.query.bind(pool) as unknown as RunQuery;
  const waiting: Completion[] = [];
  let underWay = 0;

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
    return new Promise((resolve, reject) => {
      waiting.push({ text, values, resolve, reject });
      next();
    });
  }) as typeof pool.query;
  return pool;
}

async function complete(run: RunQuery, completions: Completion[]): Promise<void> {
  if (completions.length === 1) return alone(run, completions[0] as Completion);
  if (isAlike(completions) && (await together(run, completions))) return;
  for (let from = 0; from < completions.length; from += MOST_CALLS) {
    await oneByOne(run, completions.slice(from, from + MOST_CALLS));
  }
}

/** Whether the one statement may do them: of one queue without a limiter, and removed when they end. */
function isAlike(completions: Completion[]): boolean {
  const [first] = completions as [Completion];
  return completions.every(
    ({ values }) =>
      values[REMOVE_ALL] === true &&
      values[LIMITER_MAX] === null &&
      [QUEUE, LOCK_MS, WORKER].every((place) => values[place] === first.values[place]),
  );
}

/** Answers whether it was done. */
async function together(run: RunQuery, completions: Completion[]): Promise<boolean> {
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
  // Undone as a whole, whatever is wrong: the jobs say it by themselves.
  const { rows } = await run(completeTogether(common, endings)).catch(() => ({ rows: [] }));
  for (const [i, row] of rows.entries()) completions[i]?.resolve({ rows: [withoutOrder(row)] });
  return rows.length > 0;
}

/** BullMQ's function for each, in one statement. */
async function oneByOne(run: RunQuery, completions: Completion[]): Promise<void> {
  try {
    const { rows } = await run(CALLS, columns(completions));
    const byCompletion = new Map(rows.map((row) => [Number(row.ord), withoutOrder(row)]));
    for (const [i, { resolve }] of completions.entries()) {
      const job = byCompletion.get(i + 1);
      resolve({ rows: job ? [job] : [] });
    }
  } catch {
    // Undone as a whole. Whatever is wrong, each job now says by itself.
    await Promise.all(completions.map((completion) => alone(run, completion)));
  }
}

async function alone(run: RunQuery, { text, values, resolve, reject }: Completion): Promise<void> {
  await run(text, values).then(resolve, reject);
}

function withoutOrder({ ord, ...job }: Row): Row {
  return job;
}

/** One array a parameter, with a value for each completion. */
function columns(completions: Completion[]): unknown[][] {
  return Array.from({ length: PARAMETERS }, (_, p) => completions.map(({ values }) => values[p] ?? null));
}

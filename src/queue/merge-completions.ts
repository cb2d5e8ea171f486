/**
 * A pool for BullMQ's PostgreSQL backend that completes jobs together.
 *
 * BullMQ ends each job with a statement and a commit of its own, `move_to_completed_fetch`, which also hands out the
 * next job. Completions that come while an earlier one is under way wait for it and then go as one statement that calls
 * the same function once per job. Nothing else is touched: locks, stalls, retries, limits and events stay BullMQ's.
 *
 * Guarantee: a lone completion goes at once. Where BullMQ refuses one (its lock was lost), or somebody else holds one of
 * the rows, the statement is undone and each of its jobs is completed by itself: one bad job fails alone. If we die here the jobs' locks run out, as they do without us.
 */
import type pg from 'pg';

/** One claim looks past the rows that its own transaction claimed before, so larger ones cost more than they save. */
const MOST_AT_ONCE = 32;
/** Statements under way: one to work while the other commits. */
const STATEMENTS = 2;

const CALL = 'move_to_completed_fetch(';
// BullMQ's look for stalled jobs locks many rows in an order of its own: whoever holds several must not wait for another.
// So the rows are locked first or not at all; the function's first argument makes sure of the order.
const MERGED = `with held as materialized (
    select from job where queue = any($1) and id = any($2) for update nowait),
  ready as materialized (select count(*) as jobs from held)
select c.ord, j.*
from ready, unnest($1::text[], $2::text[], $3::text[], $4::jsonb[], $5::bigint[], $6::boolean[], $7::bigint[], $8::integer[],
    $9::bigint[], $10::bigint[], $11::text[], $12::integer[], $13::bigint[])
  with ordinality as c (a, b, c, d, e, f, g, h, i, j, k, l, m, ord),
  lateral move_to_completed_fetch(
    case when ready.jobs >= 0 then c.a end, c.b, c.c, c.d, c.e, c.f, c.g, c.h, c.i, c.j, c.k, c.l, c.m) as j`;
const PARAMETERS = 13;

interface Completion {
  text: string;
  values: readonly unknown[];
  resolve(result: { rows: unknown[] }): void;
  reject(error: unknown): void;
}

type RunQuery = (text: string, values: readonly unknown[]) => Promise<{ rows: Array<Record<string, unknown>> }>;

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
  try {
    const { rows } = await run(MERGED, columns(completions));
    const byCompletion = new Map(rows.map(({ ord, ...job }) => [Number(ord), job]));
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

/** One array a parameter, with a value for each completion. */
function columns(completions: Completion[]): unknown[][] {
  return Array.from({ length: PARAMETERS }, (_, p) => completions.map(({ values }) => values[p] ?? null));
}

/**
 * Counts the rows that statements read, by table, as PostgreSQL does: the cost of a plan, independent of the machine.
 *
 * Guarantee: counts only the rows that `work` reads, as long as only the two pools, of one connection each, use the
 * database.
 */
import type { Pool } from '../../../src/platform/db/pool.ts';

// Index entries, and rows that sequential or index scans read.
const READ = `select t.relname as table, t.seq_tup_read + coalesce(t.idx_tup_fetch, 0) + coalesce((
    select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0)::float8 as n
  from pg_stat_user_tables t`;

/** The number of rows and index entries of each table that `work` reads through the one connection of `pool`. */
export async function rowsRead(
  pool: Pool,
  observer: Pool,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await snapshot(pool, observer);
  await work();
  const after = await snapshot(pool, observer);
  const read = [...after].map(([table, n]) => [table, n - (before.get(table) ?? 0)] as const);
  return Object.fromEntries(read.filter(([, n]) => n > 0));
}

/**
 * Lets connections report now what they have read. Otherwise they report it up to seconds later, when a test may count what
 * another connection reads.
 */
export async function reportRead(...pools: Pool[]): Promise<void> {
  // A connection reports at the end of the statement that asks for it, or of the next one.
  for (const pool of pools) {
    await pool.query('select pg_stat_force_next_flush()');
    await pool.query('select 1');
  }
}

async function snapshot(pool: Pool, observer: Pool): Promise<Map<string, number>> {
  await reportRead(pool, observer);
  const { rows } = await observer.query<{ table: string; n: number }>(READ);
  return new Map(rows.map(({ table, n }) => [table, n]));
}

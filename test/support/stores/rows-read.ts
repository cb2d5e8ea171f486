/**
 * Rows that statements read, by table, as PostgreSQL counts them: what a plan costs, whatever the machine's speed.
 *
 * Guarantee: only what was read between two looks is counted, as long as nobody uses the database but the two pools, of one
 * connection each.
 */
import type { Pool } from '../../../src/db/pool.ts';

// Entries of indexes, and rows that whole-table scans or indexes read.
const READ = `select t.relname as table, t.seq_tup_read + coalesce(t.idx_tup_fetch, 0) + coalesce((
    select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0)::float8 as n
  from pg_stat_user_tables t`;

/** How many rows and index entries `work` reads of each table through the one connection of `pool`. */
export async function rowsRead(
  pool: Pool,
  observer: Pool,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const before = await look(pool, observer);
  await work();
  const after = await look(pool, observer);
  const read = [...after].map(([table, n]) => [table, n - (before.get(table) ?? 0)] as const);
  return Object.fromEntries(read.filter(([, n]) => n > 0));
}

/** A connection reports what it counted at the end of the statement before which the flush was asked for. */
async function look(...pools: [Pool, Pool]): Promise<Map<string, number>> {
  for (const pool of pools) await pool.query('select pg_stat_force_next_flush()');
  const { rows } = await pools[1].query<{ table: string; n: number }>(READ);
  return new Map(rows.map(({ table, n }) => [table, n]));
}

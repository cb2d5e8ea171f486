/**
 * The settings of our sessions: what our statements need, whatever the server's own settings are.
 *
 * A statement sets them when a connection opens. The startup parameter `options` would not do: connection poolers such
 * as PgBouncer, RDS Proxy and Neon's reject it, and `?options=…` in DATABASE_URL would replace all of ours. Where a
 * pooler gives each transaction another session (DATABASE_DIRECT_URL is set), every transaction sets them for itself.
 *
 * Guarantee: a pool hands out no connection before its settings apply. What the operator passes as `-c` options in
 * DATABASE_URL or PGOPTIONS overrides ours, except for the settings that our statements cannot run without.
 * On crash: nothing is left; the settings end with the connection.
 */
import type pg from 'pg';

/** Names and values, as in `set name = 'value'`. */
export type SessionSettings = Record<string, string>;

/** The settings of every pool. */
export const EVERY_SESSION: Readonly<SessionSettings> = {
  // Our statements take milliseconds. JIT compilation takes up to seconds, and the server does it for each execution of
  // a plan with a high estimated cost, which is every plan with a step that the session disables.
  jit: 'off',
  // Prepared statements and foreign-key checks keep the plan that was made at their first use. If the table had only a
  // few rows then, that plan scans the whole table for each row that is written, and keeps doing so while the table
  // grows to millions, until autovacuum analyzes it again. Everything that we read often has an index.
  enable_seqscan: 'off',
  // A bitmap scan collects all matching rows before it returns the first. The dispatcher and pages need only the first
  // few, in index order; where the planner expects few rows, it would read the whole rest of the import for each slice.
  enable_bitmapscan: 'off',
  // The embedded server's value, so that plans are the same: on solid-state disks and for cached pages, random reads
  // are cheap.
  random_page_cost: '1.1',
};

/** The settings that always apply: with another search_path, names would refer to other tables. */
const REQUIRED = ['search_path'];

const SET = `select set_config(wanted.name, wanted.value, false)
  from unnest($1::text[], $2::text[]) as wanted (name, value) left join pg_settings now using (name)
  where now.source is distinct from 'client' or wanted.name = any($3::text[])`;

/**
 * Returns a function that prepares a new connection, for the `onConnect` of a pool, which waits for it.
 * @param settings those of this pool; they override those of every session
 */
export function prepareSession(settings: SessionSettings = {}): (client: pg.ClientBase) => Promise<void> {
  const wanted = { ...EVERY_SESSION, ...settings };
  const values = [Object.keys(wanted), Object.values(wanted), REQUIRED];
  return async (client) => {
    await client.query(SET, values);
  };
}

/** SQL that begins a transaction with the settings, for sessions that other clients use as well. */
export function beginWith(settings: SessionSettings = {}): string {
  const wanted = Object.entries({ ...EVERY_SESSION, ...settings });
  return ['begin', ...wanted.map(([name, value]) => `set local ${name} = '${value}'`)].join('; ');
}

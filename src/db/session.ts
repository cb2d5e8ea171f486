/**
 * The settings of our sessions: what every statement of ours needs, whatever the server's own settings are.
 *
 * They are set by a statement when a connection opens, not by the startup parameter `options`: connection poolers such as
 * PgBouncer, RDS Proxy and Neon's refuse it, and `?options=…` in DATABASE_URL would replace ours as a whole. PgBouncer has to
 * pool by session; with transaction or statement pooling no setting of a session holds (`muster doctor` detects that).
 *
 * Guarantee: a pool hands out no connection before its settings hold. What the operator passes as `-c` options in DATABASE_URL
 * or PGOPTIONS wins over ours, except for what our statements cannot run without.
 * On crash: nothing is left; the settings end with the connection.
 */
import type pg from 'pg';

/** Names and values, as `set name = 'value'` takes them. */
export type SessionSettings = Record<string, string>;

/** Of every pool. */
export const EVERY_SESSION: Readonly<SessionSettings> = {
  // Our statements take milliseconds. Compiling one takes up to seconds, and the server does it for each execution whose plan
  // it believes to be dear, which is every plan with a step that the session disables.
  jit: 'off',
  // Prepared statements and checks of foreign keys keep the plan that was made when they were first used. If a table had a few
  // rows then, that plan reads all of it, for each row that is written, and keeps doing so while the table grows to millions,
  // until autovacuum looks at it again. All that we read often has an index.
  enable_seqscan: 'off',
  // A bitmap holds all rows that fit before the first one is read. The dispatcher and pages want the first few, in the order of an
  // index; where the planner believes that few are left, it would read the whole rest of the import for each slice.
  enable_bitmapscan: 'off',
  // As the embedded server has it, so that plans are the same: with disks of today and pages in memory, a look-up is cheap.
  random_page_cost: '1.1',
};

/** Without it, names would mean other tables. */
const REQUIRED = ['search_path'];

const SET = `select set_config(wanted.name, wanted.value, false)
  from unnest($1::text[], $2::text[]) as wanted (name, value) left join pg_settings now using (name)
  where now.source is distinct from 'client' or wanted.name = any($3::text[])`;

/**
 * What makes a new connection ready: for the `onConnect` of a pool, which waits for it.
 * @param settings those of this pool, over those of every session
 */
export function prepareSession(settings: SessionSettings = {}): (client: pg.ClientBase) => Promise<void> {
  const wanted = { ...EVERY_SESSION, ...settings };
  const values = [Object.keys(wanted), Object.values(wanted), REQUIRED];
  return async (client) => {
    await client.query(SET, values);
  };
}

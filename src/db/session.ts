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

const EVERY_SESSION: SessionSettings = {
  // Our statements take milliseconds. Compiling one takes up to seconds, and the server does it for each execution whose plan
  // it believes to be dear, which is every plan with a step that the session disables.
  jit: 'off',
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

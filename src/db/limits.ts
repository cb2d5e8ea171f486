/**
 * Time limits of PostgreSQL: for a statement, for a lock, for an idle transaction.
 *
 * All are derived from the limit of one statement (DATABASE_TIMEOUT_MS). The server ends what takes too long, and the
 * connection stays usable. If the server is silent, the client closes the connection a little later (timed-client.ts).
 * An idle transaction loses its locks before the sessions that wait for them time out.
 * Holds no state. On crash: the server ends our transactions by the same limits.
 */
import type pg from 'pg';
import type { SessionSettings } from './session.ts';

/** The one connection of a transaction. */
type Connection = Pick<pg.ClientBase, 'query'>;

/** The default for one statement. */
export const STATEMENT_MS = 30_000;
/** For a statement over all users of an import, such as removing a rejected upload. */
const LONG_STATEMENT_MS = 600_000;
/** Migrations may build indexes of large tables, or wait while another process does so. */
export const MIGRATION_MS = 3_600_000;
/** For establishing a connection; never longer than a statement may take. */
export const CONNECT_MS = 10_000;
/** An idle connection is probed after this time; without an answer it counts as lost about 20 seconds later. */
export const KEEP_ALIVE_MS = 10_000;

/** The settings of a session (session.ts); values without a unit are milliseconds. */
export function sessionLimits(statementMs: number): SessionSettings {
  return {
    statement_timeout: `${statementMs}`,
    lock_timeout: `${Math.ceil((statementMs * 5) / 6)}`,
    idle_in_transaction_session_timeout: `${Math.ceil((statementMs * 2) / 3)}`,
  };
}

/**
 * After how many milliseconds the client considers the connection lost: later than the server's own limit, so that the
 * server's answer has time to arrive.
 */
export function silenceMs(statementMs: number): number {
  return statementMs + Math.min(5000, Math.max(500, statementMs / 4));
}

/**
 * TCP settings by which the server notices that a client vanished; most systems need two hours by default. PostgreSQL
 * ignores them on a Unix socket.
 */
export const SERVER_KEEP_ALIVE: SessionSettings = {
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60000',
};

/** Connections whose current transaction has the longer limit. */
const long = new WeakSet<Connection>();

// A server on Windows rejects every interval except 0.
const ALLOW_LONG = `select set_config('statement_timeout', '${LONG_STATEMENT_MS}', true),
  set_config('client_connection_check_interval',
    case when version() ~* 'visual c|msvc|mingw' then '0' else '5s' end, true)`;

/**
 * Lets each statement of a transaction take up to ten minutes, for work that grows with an import. The server ends them
 * when it notices that the client is gone. The lock timeout does not change.
 */
export async function allowLong(db: Connection): Promise<void> {
  await db.query(ALLOW_LONG);
  long.add(db);
}

/** Call it when the transaction is over. */
export function endLong(db: Connection): void {
  long.delete(db);
}

/** How long a statement on this connection may currently take. */
export function statementMsOn(db: Connection, usualMs: number): number {
  return long.has(db) ? Math.max(usualMs, LONG_STATEMENT_MS) : usualMs;
}

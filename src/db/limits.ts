/**
 * How long PostgreSQL may take: for a statement, a lock, a transaction that does nothing.
 *
 * All follow from the time of one statement (DATABASE_TIMEOUT_MS). The server ends what takes too long and the connection
 * stays usable; a server that is not heard of at all is given up a little later by the client (timed-client.ts). A
 * transaction that stands idle loses its locks before those who wait for them give up.
 * Holds no state of ours. On crash: the server ends our transactions by the same limits.
 */
import type pg from 'pg';
import type { SessionSettings } from './session.ts';

/** The one connection of a transaction. */
type Connection = Pick<pg.ClientBase, 'query'>;

/** One statement, unless configured. */
export const STATEMENT_MS = 30_000;
/** One statement over all users of an import, such as removing an upload that was refused. */
const LONG_STATEMENT_MS = 600_000;
/** Migrations may build indexes of large tables, and wait while another process does. */
export const MIGRATION_MS = 3_600_000;
/** To establish a connection; never longer than a statement may take. */
export const CONNECT_MS = 10_000;
/** An idle connection is probed after this time; it is lost some 20 seconds later. */
export const KEEP_ALIVE_MS = 10_000;

/** The settings of a session (session.ts); without a unit they are milliseconds. */
export function sessionLimits(statementMs: number): SessionSettings {
  return {
    statement_timeout: `${statementMs}`,
    lock_timeout: `${Math.ceil((statementMs * 5) / 6)}`,
    idle_in_transaction_session_timeout: `${Math.ceil((statementMs * 2) / 3)}`,
  };
}

/**
 * After how many milliseconds the client takes the connection for lost: the server's own limit comes first, and its
 * answer has some time to arrive.
 */
export function silenceMs(statementMs: number): number {
  return statementMs + Math.min(5000, Math.max(500, statementMs / 4));
}

/**
 * How the server notices that a client is gone without a word, in place of the two hours of most systems. PostgreSQL ignores
 * them on a unix socket.
 */
export const SERVER_KEEP_ALIVE: SessionSettings = {
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  tcp_user_timeout: '60000',
};

/** Transactions that were allowed more, by their connection. */
const long = new WeakSet<Connection>();

// A server on Windows refuses every interval but 0.
const ALLOW_LONG = `select set_config('statement_timeout', '${LONG_STATEMENT_MS}', true),
  set_config('client_connection_check_interval',
    case when version() ~* 'visual c|msvc|mingw' then '0' else '5s' end, true)`;

/**
 * Lets the statements of a transaction take up to ten minutes each, for work that grows with an import. The server ends them
 * when it notices that the client is gone. Locks are waited for no longer than else.
 */
export async function allowLong(db: Connection): Promise<void> {
  await db.query(ALLOW_LONG);
  long.add(db);
}

/** The transaction is over. */
export function endLong(db: Connection): void {
  long.delete(db);
}

/** How long a statement on this connection may take now. */
export function statementMsOn(db: Connection, usualMs: number): number {
  return long.has(db) ? Math.max(usualMs, LONG_STATEMENT_MS) : usualMs;
}

/**
 * One connection to PostgreSQL: its session settings, its time limits, and a client that never waits forever.
 *
 * A statement makes the session settings when a connection opens. The startup parameter `options` would not do:
 * connection poolers such as PgBouncer, RDS Proxy and Neon's reject it, and `?options=…` in DATABASE_URL would replace
 * all of ours. Where a pooler gives each transaction another session (DATABASE_DIRECT_URL is set), every transaction
 * makes them for itself.
 *
 * Time limits are derived from the limit of one statement (DATABASE_TIMEOUT_MS). The server ends what takes too long,
 * and the connection stays usable. If the server is silent, the client closes the connection a little later. An idle
 * transaction loses its locks before the sessions that wait for them time out.
 *
 * Guarantee: a pool hands out no connection before its settings apply. What the operator passes as `-c` options in
 * DATABASE_URL or PGOPTIONS overrides ours, except for what our code assumes (ASSUMED), which nothing overrides.
 * On crash: the server ends statements and transactions in progress by its own limits.
 */
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { noteStatement } from '../telemetry.ts';

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
/** Time to read an answer that arrived while this process was suspended. */
const READ_MS = 100;

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

/**
 * What the statements, and the code that reads their answers, assume. A server, database or role may have other values
 * for its other programs, so every session sets all of them, and nothing overrides them. Each has its reason.
 */
export const ASSUMED: Readonly<SessionSettings> = {
  // Names of tables have no schema, and refer to other tables, or to none, with another path.
  search_path: 'public',
  // `pg` reads times in this form only: in any other one, a time is a text, or no valid time.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  // `pg` sends and reads UTF-8, whatever the server says.
  client_encoding: 'UTF8',
  // `pg` reads both forms of bytes, but casts to text and dumps have the one that is set.
  bytea_output: 'hex',
  // Fewer digits would round numbers such as times in seconds.
  extra_float_digits: '1',
  // Otherwise a backslash in a text of a statement escapes what follows it.
  standard_conforming_strings: 'on',
  // Otherwise a NULL in an array that we send is the text "NULL": `pg` sends arrays as texts.
  array_nulls: 'on',
  // Otherwise `x = $1` finds rows without a value, if the parameter is NULL in the text.
  transform_null_equals: 'off',
  // Higher levels fail statements that wait for a row of another transaction, instead of continuing with its result.
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // A database or role may be read-only by default; READ_ONLY_SERVER says when that is not overridden.
  default_transaction_read_only: 'off',
  // A policy of somebody else would hide rows, such as a user's lock; without policies nothing changes.
  row_security: 'off',
  // Without triggers, rows of deleted users would stay. Only a superuser may change it: a role without that right cannot
  // use such a database, which is better than to use it without its triggers.
  session_replication_role: 'origin',
  // An error that we expect, such as a duplicate, would end the session.
  exit_on_error: 'off',
  // Would leave out results of searches at random.
  gin_fuzzy_search_limit: '0',
  // Our own limits end statements, locks and idle transactions (`sessionLimits`). These would end an upload, or the
  // connection that listens for progress.
  transaction_timeout: '0',
  idle_session_timeout: '0',
};

/**
 * Where an operator or a provider makes a whole server read-only: in its configuration, before its disk is full, say.
 * This is respected, and `/readyz` tells it.
 */
const READ_ONLY_SERVER = "('configuration file', 'command line', 'environment variable')";

export interface TimedOptions extends pg.ClientConfig {
  /** How long the server may take for a statement, in milliseconds; the client waits a little longer. */
  statementMs?: number;
  /** Whether no statement is prepared under a name, as it would be missing in the session of the next transaction. */
  isUnnamed?: boolean;
}

/** The one connection of a transaction. */
type Connection = Pick<pg.ClientBase, 'query'>;

type Callback = (...args: unknown[]) => unknown;
type Query = (...args: unknown[]) => unknown;

/**
 * A client for which a server that is silent for too long counts as gone.
 *
 * Guarantee: a statement settles within its limit, whatever the network does. When the limit has passed, the connection
 * is destroyed, as an answer may still arrive on it: no pool takes it back, and the current and later statements on it
 * fail with ETIMEDOUT. (`query_timeout` of `pg` leaves the connection of a transaction open, with the statement in
 * progress and the rollback queued behind it.) Whether the statement was executed is unknown, as with any broken
 * connection.
 */
export class TimedClient extends pg.Client {
  constructor(options: TimedOptions = {}) {
    const { statementMs = STATEMENT_MS, isUnnamed = false } = options;
    super({
      ...options,
      connectionTimeoutMillis: Math.min(statementMs, CONNECT_MS),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    const query = this.query.bind(this) as Query;
    const watch = () => watchdog(this, silenceMs(statementMsOn(this, statementMs)));
    this.query = ((...args: unknown[]) =>
      watched(query, isUnnamed ? unnamed(args) : args, noted(args[0], watch()))) as typeof this.query;
  }
}

/**
 * Returns a function that prepares a new connection, for the `onConnect` of a pool, which waits for it.
 * @param settings of this pool; they override the settings of every session
 */
export function prepareSession(settings: SessionSettings = {}): (client: pg.ClientBase) => Promise<void> {
  const all = { ...EVERY_SESSION, ...ASSUMED, ...settings };
  return async (client) => {
    await client.query(sessionWith(all, optionsOf(client)));
  };
}

/**
 * SQL that makes the settings, in one message. Settings that this version of PostgreSQL does not have are left out. The
 * transaction says its level, as a replica refuses each query of a serializable one. It begins with the time limits: a
 * database or role may have limits of milliseconds, in which a busy server does not get to the other settings.
 * @param options as the client passed them; its time limits apply when the settings are made
 */
function sessionWith(settings: SessionSettings, options: string): string {
  const limits = Object.keys(sessionLimits(STATEMENT_MS));
  const first = limits.filter((name) => settings[name]).map((name) => `set ${name} = '${settings[name]}';`);
  const passed = new Set([...options.matchAll(/([\w-]+)\s*=/g)].map(([, name = '']) => optionName(name)));
  const kept = limits.filter((name) => passed.has(name));
  // PostgreSQL knows nothing of a setting of our own before it is made.
  const own = Object.entries(settings).filter(([name]) => name.includes('.'));
  const wanted = Object.entries(settings).map(([name, value]) => `('${name}', '${value}')`);
  const required = Object.keys(ASSUMED).map((name) => `'${name}'`);
  return `${BEGIN}; ${first.join(' ')}
    select set_config(now.name, wanted.value, false)
    from (values ${wanted.join(', ')}) as wanted (name, value) join pg_catalog.pg_settings now using (name)
    where now.setting <> wanted.value and (now.source <> 'client' or now.name in (${required.join(', ')}))
      and not (now.name = 'default_transaction_read_only' and now.source in ${READ_ONLY_SERVER});
    ${own.map(([name, value]) => `select set_config('${name}', '${value}', false);`).join(' ')}
    ${kept.map((name) => `reset ${name};`).join(' ')} commit`;
}

/** The name of a setting in `-c name=value` or `--name=value`, where a dash stands for an underscore. */
function optionName(text: string): string {
  return text.replace(/^-+/, '').replaceAll('-', '_').toLowerCase();
}

/** The startup parameter `options` of a connection, from DATABASE_URL or PGOPTIONS; pg 8.23 keeps it here. */
function optionsOf(client: pg.ClientBase): string {
  return (client as unknown as { connectionParameters?: { options?: string } }).connectionParameters?.options ?? '';
}

const BEGIN = 'begin isolation level read committed';
/**
 * Settings that `set` refuses in some versions of PostgreSQL or from some roles, and one that has no effect on a
 * transaction in progress: behind a pooler, a read-only default is respected, and `/readyz` tells it.
 */
const ONLY_IF = ['transaction_timeout', 'session_replication_role', 'default_transaction_read_only'];

/** SQL that begins a transaction with the settings, for sessions that other clients use as well. */
export function beginWith(settings: SessionSettings = {}): string {
  // The settings of the pool come first, as its time limits are among them.
  const all = { ...settings, ...EVERY_SESSION, ...ASSUMED, ...settings };
  const wanted = Object.entries(all).filter(([name]) => !ONLY_IF.includes(name));
  return [BEGIN, ...wanted.map(([name, value]) => `set local ${name} = '${value}'`), ...IF_NEEDED].join('; ');
}

const IF_NEEDED = [
  `select pg_catalog.set_config('transaction_timeout', '0', true)
    where pg_catalog.current_setting('transaction_timeout', true) <> '0'`,
  `select pg_catalog.set_config('session_replication_role', 'origin', true)
    where pg_catalog.current_setting('session_replication_role') <> 'origin'`,
];

/** The session settings that limit statements, locks and idle transactions; values without a unit are milliseconds. */
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

/** @returns `over`, after which a slow statement is recorded if tracing is on */
function noted(statement: unknown, over: () => void): () => void {
  const note = noteStatement(statement);
  if (!note) return over;
  return () => {
    over();
    note();
  };
}

function unnamed([statement, ...others]: unknown[]): unknown[] {
  const { name } = (statement ?? {}) as { name?: string };
  return [name === undefined ? statement : { ...(statement as object), name: undefined }, ...others];
}

/** Calls `over` when the statement settles, in whichever form it was passed. */
function watched(query: Query, args: unknown[], over: () => void): unknown {
  const [statement] = args as [{ submit?: unknown; callback?: Callback } | string];
  // A COPY stream: `pg` and the stream call its callback when it ends.
  if (typeof statement === 'object' && typeof statement.submit === 'function') {
    statement.callback = before(over, statement.callback);
    return query(...args);
  }
  const place = args.findLastIndex((arg) => typeof arg === 'function');
  if (place >= 0) {
    return query(...args.with(place, before(over, args[place] as Callback)));
  }
  const result = query(...args) as Promise<unknown>;
  result.then(over, over);
  return result;
}

function before(over: () => void, callback: Callback | undefined): Callback {
  return function (this: unknown, ...args) {
    over();
    return callback?.apply(this, args);
  };
}

/** Destroys the connection after `ms`, unless cancelled. The watchdog does not keep the process alive. */
function watchdog(client: pg.Client, ms: number): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(() => socketOf(client).destroy(new SilentServer(ms)), READ_MS).unref();
  }, ms).unref();
  return () => clearTimeout(timer);
}

/**
 * The socket of a connection, which pg 8.23 does not expose: `connection.stream` of its client, or the TLS socket.
 *
 * The watchdog destroys the connection to a silent server with it. imports/intake/copy.ts sends the header and the rows
 * of a COPY as one packet, and must know when it may reuse a buffer.
 * @throws Error when this version of pg keeps its socket elsewhere
 */
export function socketOf(client: pg.ClientBase): Duplex {
  const socket = (client as unknown as { connection?: { stream?: Duplex } }).connection?.stream;
  if (typeof socket?.cork !== 'function' || typeof socket.destroy !== 'function') {
    throw new Error('This version of pg has no socket at client.connection.stream.');
  }
  return socket;
}

/** Has the error code of a connection that the operating system gave up, because the effect is the same. */
class SilentServer extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(ms: number) {
    super(`PostgreSQL did not answer within ${Math.round(ms)} ms`);
    this.name = 'SilentServer';
  }
}

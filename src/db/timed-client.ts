/**
 * A connection to PostgreSQL that never waits forever: a server that is silent for too long counts as gone.
 *
 * Guarantee: a statement settles within its limit, whatever the network does. When the limit has passed, the connection
 * is destroyed, as an answer may still arrive on it: no pool takes it back, and the current and later statements on it
 * fail with ETIMEDOUT. (`query_timeout` of `pg` leaves the connection of a transaction open, with the statement in
 * progress and the rollback queued behind it.) Whether the statement was executed is unknown, as with any broken
 * connection.
 * On crash: the server ends statements in progress by its own limits.
 */
import pg from 'pg';
import { noteStatement } from '../spans.ts';
import { CONNECT_MS, KEEP_ALIVE_MS, STATEMENT_MS, silenceMs, statementMsOn } from './limits.ts';
import { socketOf } from './pg-socket.ts';

export interface TimedOptions extends pg.ClientConfig {
  /** How long the server may take for a statement, in milliseconds; the client waits a little longer. */
  statementMs?: number;
  /** Whether no statement is prepared under a name, as it would be missing in the session of the next transaction. */
  isUnnamed?: boolean;
}

/** Time to read an answer that arrived while this process was suspended. */
const READ_MS = 100;

type Callback = (...args: unknown[]) => unknown;
type Query = (...args: unknown[]) => unknown;

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

/** Has the error code of a connection that the operating system gave up, because the effect is the same. */
class SilentServer extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(ms: number) {
    super(`PostgreSQL did not answer within ${Math.round(ms)} ms`);
    this.name = 'SilentServer';
  }
}

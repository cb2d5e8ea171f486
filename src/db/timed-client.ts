/**
 * A connection to PostgreSQL that never waits for ever: a server that is silent for too long counts as gone.
 *
 * Guarantee: a statement settles within its limit, whatever the network does. When the limit is over the connection is
 * destroyed, as an answer may still come on it: no pool takes it back, the statements on it fail with ETIMEDOUT, and so does
 * what is asked of it later. (`query_timeout` of `pg` leaves a connection of a transaction open with the statement
 * under way, and the rollback behind it.) Whether the statement was carried out is unknown, as with any broken connection.
 * On crash: the server ends what was under way by its own limits.
 */
import pg from 'pg';
import { CONNECT_MS, KEEP_ALIVE_MS, STATEMENT_MS, silenceMs, statementMsOn } from './limits.ts';
import { socketOf } from './pg-socket.ts';

export interface TimedOptions extends pg.ClientConfig {
  /** How long the server may take for a statement, in milliseconds; the client waits a little longer. */
  statementMs?: number;
}

/** After a time in which this process stood still, an answer may lie there unread. */
const READ_MS = 100;

type Callback = (...args: unknown[]) => unknown;
type Query = (...args: unknown[]) => unknown;

export class TimedClient extends pg.Client {
  constructor(options: TimedOptions = {}) {
    const { statementMs = STATEMENT_MS } = options;
    super({
      ...options,
      connectionTimeoutMillis: Math.min(statementMs, CONNECT_MS),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    const query = this.query.bind(this) as Query;
    const watch = () => watchdog(this, silenceMs(statementMsOn(this, statementMs)));
    this.query = ((...args: unknown[]) => watched(query, args, watch())) as typeof this.query;
  }
}

/** Calls `over` when the statement is settled, in whichever form it was given. */
function watched(query: Query, args: unknown[], over: () => void): unknown {
  const [statement] = args as [{ submit?: unknown; callback?: Callback } | string];
  // A COPY: `pg` and the stream call its callback at its end.
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

/** Destroys the connection after `ms`, unless it is called off. An open connection keeps the process alive, its watchdog does not. */
function watchdog(client: pg.Client, ms: number): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(() => socketOf(client).destroy(new SilentServer(ms)), READ_MS).unref();
  }, ms).unref();
  return () => clearTimeout(timer);
}

/** The code is that of a connection that the system gave up, and means the same. */
class SilentServer extends Error {
  readonly code = 'ETIMEDOUT';
  constructor(ms: number) {
    super(`PostgreSQL did not answer within ${Math.round(ms)} ms`);
    this.name = 'SilentServer';
  }
}

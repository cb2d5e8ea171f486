/**
 * A pool that waits while the server has no connection left.
 *
 * Several processes share the connections that PostgreSQL allows, 100 by default. Together they may want more than that
 * for a moment. `pg` fails a query when the server refuses its new connection, even if the pool's other connections
 * become free a millisecond later.
 *
 * Guarantee: `connect` and `query` wait for a connection of the pool to become free, or try a new one, for up to
 * REFUSED_MS; then they fail with the server's error, 53300.
 */
import pg from 'pg';
import { sqlState } from './sqlstates.ts';

type Callback = (err: Error | undefined, client?: pg.PoolClient, release?: (err?: Error | boolean) => void) => void;

/** After this time without use, a connection is closed and others can have it, in milliseconds. */
const IDLE_MS = 5000;
/** How long a caller waits for a server that refuses connections: longer than other pools keep idle ones. */
export const REFUSED_MS = 8000;
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1000;
/** The name is wrong where a role or a database has a limit of its own; the code is the same. */
const TOO_MANY_CONNECTIONS = '53300';

export class PatientPool extends pg.Pool {
  /** Callers whose connection was refused, the first one first. */
  readonly #refused: (() => void)[] = [];

  constructor(config: pg.PoolConfig) {
    super({ idleTimeoutMillis: IDLE_MS, ...config });
    // The pool takes the connection back after this event.
    this.on('release', () => setImmediate(() => this.#refused.shift()?.()));
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<pg.PoolClient> | undefined {
    const end = performance.now() + REFUSED_MS;
    if (callback) {
      this.#attempt(callback, end, FIRST_PAUSE_MS);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#attempt((err, client) => (client ? resolve(client) : reject(err)), end, FIRST_PAUSE_MS);
    });
  }

  #attempt(callback: Callback, end: number, pauseMs: number): void {
    super.connect((err, client, release) => {
      const left = end - performance.now();
      if (sqlState(err) !== TOO_MANY_CONNECTIONS || left <= 0 || this.ending) return callback(err, client, release);
      this.#pause(Math.min(left, pauseMs), () => this.#attempt(callback, end, Math.min(2 * pauseMs, LAST_PAUSE_MS)));
    });
  }

  /** Calls `next` after `ms`, or when a connection becomes free and nobody waits longer. */
  #pause(ms: number, next: () => void): void {
    const wake = () => {
      clearTimeout(timer);
      next();
    };
    const timer = setTimeout(() => {
      this.#refused.splice(this.#refused.indexOf(wake), 1);
      next();
    }, ms);
    this.#refused.push(wake);
  }
}

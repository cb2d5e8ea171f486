/**
 * A pool that waits while the server has no connection left, and then leaves its own to others.
 *
 * Several pools of several processes share the connections that PostgreSQL allows, 100 by default. Together they may
 * want more than that. `pg` fails a query when the server refuses its new connection, even if another connection
 * becomes free a millisecond later; and a pool that is used every few seconds never closes a connection, however many
 * others wait.
 *
 * Guarantee: `connect` and `query` wait for a connection of the pool to become free, or try a new one, for up to
 * REFUSED_MS; then they fail with the server's error, 53300. For SCARCE_MS after a refusal, each pool of this process
 * closes the connections that nobody uses, almost at once. So one connection is enough for all pools of a process, apart
 * from those that it holds for long, and they take turns. No connection is kept for longer than LIFETIME_S, which gives
 * other processes a turn too.
 */
import pg from 'pg';
import { sqlState } from './sqlstates.ts';

type Callback = (err: Error | undefined, client?: pg.PoolClient, release?: (err?: Error | boolean) => void) => void;

/** After this time without use, a connection is closed and others can have it, in milliseconds. */
const IDLE_MS = 5000;
/** The same while connections are scarce, as other processes may need them: longer than the pauses of a busy pool. */
const SCARCE_IDLE_MS = 20;
/** The same while this process waits for a connection: a statement that follows at once still finds it. */
const WANTED_IDLE_MS = 5;
/** Connections count as scarce for so long after a refusal. */
const SCARCE_MS = 30_000;
const LIFETIME_S = 60;
/** How long a caller waits for a server that refuses connections: longer than other pools keep idle ones. */
export const REFUSED_MS = 8000;
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 500;
/** The name is wrong where a role or a database has a limit of its own; the code is the same. */
const TOO_MANY_CONNECTIONS = '53300';

/** The pools of this process that have connections. */
const connected = new Set<PatientPool>();
/** Callers of this process whose connection was refused, the first one first. */
const refused: { pool: PatientPool; wake(): void }[] = [];
let scarceUntil = 0;

export class PatientPool extends pg.Pool {
  constructor(config: pg.PoolConfig) {
    super({ idleTimeoutMillis: IDLE_MS, maxLifetimeSeconds: LIFETIME_S, ...config });
    this.on('connect', () => connected.add(this));
    // The pool takes the connection back after this event, with this timeout.
    this.on('release', () => {
      this.options.idleTimeoutMillis = idleMs();
      setImmediate(() => refused.find(({ pool }) => pool === this)?.wake());
    });
    // PostgreSQL closes the socket when the connection no longer counts.
    this.on('remove', () => {
      if (this.totalCount === 0) connected.delete(this);
      refused[0]?.wake();
    });
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
      if (sqlState(err) !== TOO_MANY_CONNECTIONS) return callback(err, client, release);
      spare();
      const left = end - performance.now();
      if (left <= 0 || this.ending) return callback(err, client, release);
      this.#pause(Math.min(left, pauseMs), () => this.#attempt(callback, end, Math.min(2 * pauseMs, LAST_PAUSE_MS)));
    });
  }

  /** Calls `next` after `ms`, or when a connection becomes free and nobody waits longer. */
  #pause(ms: number, next: () => void): void {
    const waiting = {
      pool: this,
      wake: () => {
        clearTimeout(timer);
        refused.splice(refused.indexOf(waiting), 1);
        next();
      },
    };
    const timer = setTimeout(waiting.wake, ms);
    refused.push(waiting);
  }

  /** Closes the connections that nobody uses or waits for. */
  closeIdle(): void {
    if (this.waitingCount > 0) return;
    for (let left = this.idleCount; left > 0; left--) super.connect((_err, _client, release) => release?.(true));
  }
}

/** After how many milliseconds an unused connection is closed now. */
function idleMs(): number {
  if (refused.length > 0) return WANTED_IDLE_MS;
  return performance.now() < scarceUntil ? SCARCE_IDLE_MS : IDLE_MS;
}

/** Connections are scarce: from now on the pools of this process keep none that they do not use. */
function spare(): void {
  scarceUntil = performance.now() + SCARCE_MS;
  for (const pool of connected) pool.closeIdle();
}

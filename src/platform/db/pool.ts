/**
 * Pools of connections to PostgreSQL, and transactions.
 *
 * Several pools of several processes share the connections that PostgreSQL allows, 100 by default. Together they may
 * want more than that. `pg` fails a query when the server refuses its new connection, even if another connection
 * becomes free a millisecond later; and a pool that is used every few seconds never closes a connection, however many
 * others wait. So our pools wait while the server has no connection left, and then leave their own to others.
 *
 * Guarantee: nothing waits for the database forever (client.ts): no statement, no lock, no connection. If a frozen
 * process leaves a transaction open, the server ends its connection, so that a frozen worker cannot hold locks for
 * long.
 */
import { createHash } from 'node:crypto';
import pg from 'pg';
import {
  beginWith,
  endLong,
  prepareSession,
  SERVER_KEEP_ALIVE,
  type SessionSettings,
  STATEMENT_MS,
  sessionLimits,
  TimedClient,
  type TimedOptions,
} from './client.ts';
import { sqlState } from './faults.ts';

export type Pool = pg.Pool;
/** Anything that runs a query: a pool, or the one connection of a transaction. */
export type Db = Pick<pg.ClientBase, 'query'>;

export interface PoolOptions {
  /** Maximum number of connections. */
  max?: number;
  /** Shown in pg_stat_activity. */
  name?: string;
  /** The name of the pool in `/metrics`, which several may share; default: `name` without `muster-`. */
  label?: string;
  /** Settings of each session; they override the settings and limits of client.ts. */
  settings?: SessionSettings | undefined;
  /** How long a statement may take, in milliseconds; 30 seconds by default. */
  statementMs?: number;
  /** How long a caller waits for a free or a new connection, in milliseconds; 30 seconds by default. */
  waitMs?: number;
  /** Whether a pooler gives each transaction another session; so it does where DATABASE_DIRECT_URL is set. */
  isShared?: boolean;
}

/** Numbers of connections; `waiting` is the number of callers that wait for one. */
export interface PoolUse {
  connections: number;
  idle: number;
  max: number;
  waiting: number;
}

const WAIT_MS = 30_000;

/** After this time without use, a connection is closed and others can have it, in milliseconds. */
const IDLE_MS = 5000;
/** `IDLE_MS` while connections are scarce, as other processes may need them: longer than the pauses of a busy pool. */
const SCARCE_IDLE_MS = 20;
/** `IDLE_MS` while this process waits for a connection: a statement that follows at once still finds it. */
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

/** How transactions begin in the pools whose sessions are shared. */
const BEGIN = new WeakMap<Pool, string>();

/** The names of prepared statements, by their text. */
const NAMES = new Map<string, string>();

/** The pools that are open in this process, with their labels in `/metrics`. */
const openPools = new Map<pg.Pool, string>();

/**
 * Opens a pool. Errors of connections, idle or in use, are ignored here: the current or the next query fails with them
 * anyway, and an `error` event without a listener would end the process.
 */
export function openPool(url: string, options: PoolOptions = {}): Pool {
  const { statementMs = STATEMENT_MS, isShared = false } = options;
  const settings = { ...sessionLimits(statementMs), ...options.settings };
  const config: pg.PoolConfig & TimedOptions = {
    connectionString: url,
    max: options.max ?? 10,
    application_name: options.name ?? 'muster',
    ...(isShared ? {} : { onConnect: prepareSession({ ...SERVER_KEEP_ALIVE, ...settings }) }),
    connectionTimeoutMillis: options.waitMs ?? WAIT_MS,
    Client: TimedClient,
    statementMs, // this and the next for TimedClient
    isUnnamed: isShared,
  };
  const pool = new PatientPool(config);
  openPools.set(pool, options.label ?? (options.name ?? 'muster').replace(/^muster-/, ''));
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return isShared ? inTransactions(pool, beginWith(settings)) : pool;
}

/** Lets each statement of the pool run in a transaction that has the settings. */
function inTransactions(pool: Pool, begin: string): Pool {
  BEGIN.set(pool, begin);
  const query = (text: string | pg.QueryConfig, values?: unknown[]) =>
    transaction(pool, (db) => db.query(text, values));
  return Object.assign(pool, { query }) as Pool;
}

/** Whether the pool was opened for sessions that other clients use as well. */
export function isShared(pool: Pool): boolean {
  return BEGIN.has(pool);
}

/** Runs `work` in one transaction on one connection; commits when it returns, rolls back when it throws. */
export async function transaction<T>(pool: Pool, work: (db: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query(BEGIN.get(pool) ?? 'begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((e: Error) => {
      broken = e;
    });
    throw error;
  } finally {
    endLong(client);
    client.release(broken);
  }
}

/**
 * The statement under a name that belongs to its text: a connection then parses and plans it once, which for a short
 * one takes longer than running it. For frequent statements whose text does not depend on data, as a connection keeps
 * each text until it closes.
 */
export function prepared(text: string, values: unknown[]): { name: string; text: string; values: unknown[] } {
  const name = NAMES.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 22);
  NAMES.set(text, name);
  return { name, text, values };
}

/** How many connections of the open pools are in use, by label; for `/metrics`. */
export function poolUse(): Record<string, PoolUse> {
  const uses: Record<string, PoolUse> = {};
  for (const [pool, label] of openPools) {
    if (pool.ending) openPools.delete(pool);
    else uses[label] = plus(uses[label], pool);
  }
  return uses;
}

function plus(use: PoolUse | undefined, pool: pg.Pool): PoolUse {
  const { connections, idle, max, waiting } = use ?? { connections: 0, idle: 0, max: 0, waiting: 0 };
  return {
    connections: connections + pool.totalCount,
    idle: idle + pool.idleCount,
    max: max + pool.options.max,
    waiting: waiting + pool.waitingCount,
  };
}

type Callback = (err: Error | undefined, client?: pg.PoolClient, release?: (err?: Error | boolean) => void) => void;

/** The pools of this process that have connections. */
const connected = new Set<PatientPool>();
/** Callers of this process whose connection was refused, the first one first. */
const refused: { pool: PatientPool; wake(): void }[] = [];
let scarceUntil = 0;

/**
 * Guarantee: `connect` and `query` wait for a connection of the pool to become free, or try a new one, for up to
 * REFUSED_MS; then they fail with the server's error, 53300. For SCARCE_MS after a refusal, each pool of this process
 * closes the connections that nobody uses, almost at once. So one connection is enough for all pools of a process,
 * apart from those that it holds for long, and they take turns. No connection is kept for longer than LIFETIME_S, which
 * gives other processes a turn too.
 */
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

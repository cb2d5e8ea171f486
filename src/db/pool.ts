/**
 * Connections to PostgreSQL.
 *
 * Guarantee: nothing waits for the database forever (limits.ts): no statement, no lock, no connection. If a frozen
 * process leaves a transaction open, the server ends its connection, so that a frozen worker cannot hold locks for
 * long.
 */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { endLong, SERVER_KEEP_ALIVE, STATEMENT_MS, sessionLimits } from './limits.ts';
import { notePool } from './open-pools.ts';
import { PatientPool } from './patient-pool.ts';
import { beginWith, prepareSession, type SessionSettings } from './session.ts';
import { TimedClient, type TimedOptions } from './timed-client.ts';

export type Pool = pg.Pool;
/** Anything that runs a query: a pool, or the one connection of a transaction. */
export type Db = Pick<pg.ClientBase, 'query'>;

export interface PoolOptions {
  /** Maximum number of connections. */
  max?: number;
  /** Shown in pg_stat_activity. */
  name?: string;
  /** The name of the pool in `/metrics`; default: `name` without `muster-`. */
  label?: string;
  /** Settings of each session; they override those of session.ts and limits.ts. */
  settings?: SessionSettings;
  /** How long a statement may take, in milliseconds; 30 seconds by default. */
  statementMs?: number;
  /** How long a caller waits for a free or a new connection, in milliseconds; 30 seconds by default. */
  waitMs?: number;
  /** Whether a pooler gives each transaction another session; so it does where DATABASE_DIRECT_URL is set. */
  isShared?: boolean;
}

/** How transactions begin in the pools whose sessions are shared. */
const BEGIN = new WeakMap<Pool, string>();

const WAIT_MS = 30_000;

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
  notePool(pool, options.label ?? (options.name ?? 'muster').replace(/^muster-/, ''));
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
 * The statement under a name that belongs to its text: a connection then parses and plans it once, which for a short one
 * takes longer than running it. For frequent statements whose text does not depend on data, as a connection keeps each
 * text until it closes.
 */
export function prepared(text: string, values: unknown[]): { name: string; text: string; values: unknown[] } {
  const name = NAMES.get(text) ?? createHash('sha256').update(text).digest('base64url').slice(0, 22);
  NAMES.set(text, name);
  return { name, text, values };
}

const NAMES = new Map<string, string>();

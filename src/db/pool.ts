/**
 * Connections to PostgreSQL.
 *
 * Guarantee: a connection that a stopped process left inside a transaction is ended by the server, so a frozen
 * worker cannot hold its locks for long.
 */
import pg from 'pg';
import { prepareSession, type SessionSettings } from './session.ts';

export type Pool = pg.Pool;
/** Anything that runs a query: a pool, or the one connection of a transaction. */
export type Db = Pick<pg.ClientBase, 'query'>;

export interface PoolOptions {
  /** Most connections at once. */
  max?: number;
  /** Seen in pg_stat_activity. */
  name?: string;
  /** Settings of each session, over those of session.ts. */
  settings?: SessionSettings;
}

/**
 * Opens a pool. Errors of connections are swallowed here, idle or not, as the query under way or the next one meets
 * them anyway; a connection in use that nobody listens to would end the process.
 */
export function openPool(url: string, options: PoolOptions = {}): Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max ?? 10,
    application_name: options.name ?? 'muster',
    onConnect: prepareSession(options.settings),
    connectionTimeoutMillis: 30_000,
    keepAlive: true,
  });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Runs `work` in one transaction on one connection; commits when it returns, rolls back when it throws. */
export async function transaction<T>(pool: Pool, work: (db: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((e: Error) => {
      broken = e;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

/**
 * Settings of a PostgreSQL server, role or database that hurt an import service, as one of our own sessions sees them.
 *
 * Guarantee: nothing is changed; two connections are held for some milliseconds.
 * On crash: nothing is left.
 */
import type { Pool } from '../db/pool.ts';
import { EVERY_SESSION } from '../db/session.ts';

export interface ServerFacts {
  /** `UTF8` */
  encoding: string;
  /** Settings of our sessions that the options of DATABASE_URL, or a pooler in front, keep from us: `jit=on`. */
  overridden: string[];
  /** Time limits that a role, the database or the server sets and our sessions do not, in milliseconds; 0: none. */
  timeouts: Record<TimeLimit, number>;
  autovacuum: boolean;
  sharedBuffersBytes: number;
  maxWalBytes: number;
  /** A pooler in front hands our session to others between two transactions. */
  sharesSessions: boolean;
}

/** `transaction_timeout` is there from PostgreSQL 17 on. */
const TIME_LIMITS = ['statement_timeout', 'transaction_timeout', 'idle_session_timeout'] as const;
export type TimeLimit = (typeof TIME_LIMITS)[number];

const FACTS = `select current_setting('server_encoding') as encoding,
    current_setting('autovacuum') = 'on' and current_setting('track_counts') = 'on' as autovacuum,
    pg_size_bytes(current_setting('shared_buffers'))::float8 as "sharedBuffersBytes",
    pg_size_bytes(current_setting('max_wal_size'))::float8 as "maxWalBytes",
    (select coalesce(jsonb_object_agg(name, setting::float8), '{}') from pg_settings
      where name = any($1) and source not in ('default', 'client', 'session')) as timeouts,
    (select coalesce(jsonb_object_agg(name, current_setting(name)), '{}') from pg_settings where name = any($2)) as ours`;

interface Row extends Pick<ServerFacts, 'encoding' | 'autovacuum' | 'sharedBuffersBytes' | 'maxWalBytes'> {
  timeouts: Partial<ServerFacts['timeouts']>;
  ours: Record<string, string>;
}

/** @param pool of two connections at least */
export async function serverFacts(pool: Pool): Promise<ServerFacts> {
  const { rows } = await pool.query<Row>(FACTS, [TIME_LIMITS, Object.keys(EVERY_SESSION)]);
  const { encoding, autovacuum, sharedBuffersBytes, maxWalBytes, timeouts, ours } = rows[0] as Row;
  return {
    encoding,
    overridden: Object.entries(ours).flatMap(([name, value]) =>
      value === EVERY_SESSION[name] ? [] : [`${name}=${value}`],
    ),
    timeouts: { statement_timeout: 0, transaction_timeout: 0, idle_session_timeout: 0, ...timeouts },
    autovacuum,
    sharedBuffersBytes,
    maxWalBytes,
    sharesSessions: await sharesSessions(pool),
  };
}

const TRIES = 3;
/** What PgBouncer says to `begin` when it pools statement by statement. */
const NO_TRANSACTIONS = /statement pooling/i;

/** Whether one connection gets the server process of another one that is open but idle. A pooler takes the one used last. */
async function sharesSessions(pool: Pool): Promise<boolean> {
  const [idle, busy] = [await pool.connect(), await pool.connect()];
  try {
    for (let n = 0; n < TRIES; n++) {
      const mine = await idle.query('select pg_backend_pid() as pid');
      await busy.query('begin');
      const theirs = await busy.query('select pg_backend_pid() as pid').finally(() => busy.query('rollback'));
      if (mine.rows[0].pid === theirs.rows[0].pid) return true;
    }
    return false;
  } catch (error) {
    if (NO_TRANSACTIONS.test((error as Error).message)) return true;
    throw error;
  } finally {
    idle.release();
    busy.release();
  }
}

/**
 * Settings of a PostgreSQL server, role or database that harm an import service, as a session of the service sees them.
 *
 * Guarantee: nothing is changed; two connections are used for some milliseconds.
 * On crash: nothing is left.
 */
import { isShared, type Pool } from '../db/pool.ts';
import { EVERY_SESSION } from '../db/session.ts';

export interface ServerFacts {
  /** `UTF8` */
  encoding: string;
  /** Session settings of the service that the options of DATABASE_URL or a pooler override, such as `jit=on`. */
  overridden: string[];
  /** Timeouts that a role, the database or the server sets, but the service does not, in milliseconds; 0: none. */
  timeouts: Record<TimeLimit, number>;
  autovacuum: boolean;
  sharedBuffersBytes: number;
  maxWalBytes: number;
  /** Whether a pooler gives the sessions that the service needs for itself to other clients between two transactions. */
  sharesSessions: boolean;
}

/** `transaction_timeout` exists since PostgreSQL 17. */
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

/**
 * @param pool of at least two connections
 * @param direct what has to have sessions of its own: `pool`, unless that is for shared sessions
 */
export async function serverFacts(pool: Pool, direct = isShared(pool) ? undefined : pool): Promise<ServerFacts> {
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
    sharesSessions: direct !== undefined && (await sharesSessions(direct)),
  };
}

const TRIES = 3;
/** PgBouncer's answer to `begin` in statement pooling mode. */
const NO_TRANSACTIONS = /statement pooling/i;

/** Whether one connection gets the server process of another open but idle one. A pooler reuses the last one first. */
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

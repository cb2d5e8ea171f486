/**
 * Reads from a replica (DATABASE_REPLICA_URL) that are never older than their request.
 *
 * Before a read, the primary tells its position in the write-ahead log, a call that touches no table. The read runs on
 * the replica once that has replayed this position, in one transaction with this check, as a pooler or a list of
 * several replicas may lead each transaction to another server. So a caller sees every change that any process answered
 * before, and no process has to know who wrote what.
 *
 * Guarantee: while the replica is away, behind, or unable to answer, the primary answers.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '../errors.ts';
import { type Db, openPool, type Pool, type PoolOptions, transaction } from './pool.ts';

export interface Reads {
  /** @param read only reads; it may run a second time, on the primary, and does so if it opens a transaction */
  run<T>(read: (pool: Pool) => Promise<T>): Promise<T>;
  /** The replica, if there is one. */
  replica?: Pool;
  close(): Promise<void>;
}

/** How long a read waits for the replica to replay; it usually takes a millisecond. */
const REPLAY_MS = 30;
const POLL_MS = 3;
/** How long all reads go to the primary after the replica was behind, or away. */
const BEHIND_MS = 1000;
const AWAY_MS = 5000;
/** The replica gets this long for a statement or a connection, as the primary has to answer after it. */
const REPLICA_MS = 3000;
// A commit that does not wait for the disk is visible before it is flushed.
const POSITION = `select case when current_setting('synchronous_commit') = 'off' then pg_current_wal_insert_lsn()
  else pg_current_wal_flush_lsn() end::text as position`;
// After a promotion, the server is a primary and no longer a replica.
const REPLAYED = 'select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $1::pg_lsn as replayed';

class Behind extends Error {}
/** The read wants to write, such as the end of an import whose deadline has passed. */
class NeedsPrimary extends Error {}

/** @param options see `PoolOptions`; a read finds the same settings on both servers */
export function openReads(
  primary: Pool,
  url: string | undefined,
  options: Pick<PoolOptions, 'isShared' | 'settings'> = {},
): Reads {
  if (url === undefined) return { run: (read) => read(primary), close: async () => {} };
  const replica = openPool(url, { ...options, name: 'muster-replica', statementMs: REPLICA_MS, waitMs: REPLICA_MS });
  let notBefore = 0;

  async function onReplica<T>(read: (pool: Pool) => Promise<T>): Promise<T> {
    const position = await positionOf(primary);
    return transaction(replica, async (db) => {
      await untilReplayed(db, position);
      return read(onlyReading(db));
    });
  }

  return {
    async run(read) {
      if (performance.now() < notBefore) return read(primary);
      try {
        return await onReplica(read);
      } catch (error) {
        if (error instanceof ApiError) throw error;
        if (!(error instanceof NeedsPrimary)) notBefore = performance.now() + restMs(error);
        return read(primary);
      }
    },
    replica,
    close: () => replica.end(),
  };
}

/** How far the log of the primary is. */
export async function positionOf(primary: Db): Promise<string> {
  const { rows } = await primary.query<{ position: string }>(POSITION);
  return rows[0]?.position ?? '';
}

function restMs(error: unknown): number {
  return error instanceof Behind ? BEHIND_MS : AWAY_MS;
}

/** The one connection as a pool, for functions that read from a pool. They use nothing else of it. */
function onlyReading(db: Db): Pool {
  const pool: Pick<Pool, 'query' | 'connect'> = {
    query: db.query.bind(db) as Pool['query'],
    connect: () => {
      throw new NeedsPrimary();
    },
  };
  return pool as Pool;
}

async function untilReplayed(db: Db, position: string): Promise<void> {
  const end = performance.now() + REPLAY_MS;
  for (;;) {
    const { rows } = await db.query<{ replayed: boolean | null }>(REPLAYED, [position]);
    if (rows[0]?.replayed) return;
    if (performance.now() > end) throw new Behind();
    await sleep(POLL_MS);
  }
}

/** The replica of DATABASE_REPLICA_URL: whether it answers, and how far it is behind. */
import type { Db } from '../db/pool.ts';
import { positionOf } from '../db/reads.ts';
import { withTimeout } from '../timeout.ts';

export interface ReplicaFacts {
  answers: boolean;
  /** Whether the server replays the log of a primary. After a promotion it does not. */
  isReplica?: boolean;
  /** The part of the primary's log that it has not replayed yet. */
  lagBytes?: number;
  /** Age of the last replayed transaction; 0 if it has replayed everything. */
  lagSeconds?: number;
}

/** Time limit for all of it, in milliseconds. */
const PATIENCE_MS = 4000;

const LAG = `
select pg_is_in_recovery() as "isReplica", coalesce(greatest(0, behind), 0)::float8 as "lagBytes",
  case when behind > 0 then greatest(0, extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()))
    else 0 end::float8 as "lagSeconds"
from (select pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn()) as behind) as l`;

/** @throws errors of both servers, and TimedOut */
export function readReplica(primary: Db, replica: Db): Promise<ReplicaFacts> {
  const read = async () => {
    const { rows } = await replica.query<Omit<ReplicaFacts, 'answers'>>(LAG, [await positionOf(primary)]);
    return { answers: true, ...rows[0] };
  };
  return withTimeout(read(), PATIENCE_MS, 'the replica');
}

/** Without the reason why it does not answer, which contains its address. */
export function replicaFacts(primary: Db, replica: Db): Promise<ReplicaFacts> {
  return readReplica(primary, replica).catch(() => ({ answers: false }));
}

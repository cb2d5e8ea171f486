/** Tells faults of the queue's store, after which the same call may succeed later, from errors of the call itself. */
import { faultKind, sqlState } from '../db/sqlstates.ts';

/**
 * Redis, "Error replies": the replies of a server that is loading, failing over or full, or that rejects the client.
 */
const REDIS_REPLIES =
  /\b(?:LOADING|READONLY|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|MISCONF|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)\b|max number of clients/;
/** Connection error messages of `pg` and `ioredis` that have no code; those of the last line are about a Cluster or Sentinels. */
const CONNECTION = new RegExp(
  'connection|connect\\b|timeout|timed out|terminated|retries per request' +
    '|\\bcluster\\b|slots cache|startup nodes|node is disconnected|sentinels',
  'i',
);

/**
 * Whether the store is unavailable, full or not yet ready. BullMQ's own errors, such as a lost lock, have a numeric
 * code.
 */
export function isStoreFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return false;
  if (sqlState(error)) return faultKind(error) === 'retry';
  if (error.name === 'ReplyError') return REDIS_REPLIES.test(error.message);
  return typeof code === 'string' || CONNECTION.test(error.message);
}

/** Which errors blame what holds the queue, so that the same call may succeed later, and which blame the call. */
import { faultKind, sqlState } from '../db/sqlstates.ts';

/** Redis, "Error replies": what a server answers that loads, fails over, is full or does not let us in. */
const REDIS_REPLIES =
  /\b(?:LOADING|READONLY|MASTERDOWN|NOAUTH|NOPERM|WRONGPASS|MISCONF|OOM|BUSY|CLUSTERDOWN|TRYAGAIN|NOREPLICAS)\b|max number of clients/;
/** What `pg` and `ioredis` say of a connection, without a code. */
const CONNECTION = /connection|connect\b|timeout|timed out|terminated|retries per request/i;

/** Whether the store is away, full or not yet ready. BullMQ's own errors, such as a lost lock, have a number as code. */
export function isStoreFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'number') return false;
  if (sqlState(error)) return faultKind(error) === 'retry';
  if (error.name === 'ReplyError') return REDIS_REPLIES.test(error.message);
  return typeof code === 'string' || CONNECTION.test(error.message);
}

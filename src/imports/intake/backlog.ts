/**
 * What is still to be written, so that the API can refuse new bulk imports. Keeps no state: it reads the counters of
 * the open imports, which are few rows.
 */
import type { Caller } from '../../access/caller.ts';
import type { Db } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import type { ImportDeps } from '../deps.ts';

/** Running and paused imports. One branch for each partial index: imports_open, imports_paused. */
const OPEN = `(
  select * from imports where state = 'running' and deadline > clock_timestamp()
  union all
  select * from imports where state = 'paused') as open`;
/** Seconds. Workers write thousands of users a second, so a backlog shrinks fast. */
const RETRY_AFTER_S = 30;

/** The pending users of all running and paused imports. */
export async function backlog(db: Db): Promise<number> {
  const { rows } = await db.query<{ pending: number }>({
    name: 'backlog',
    text: `select coalesce(sum(total - succeeded - skipped - failed - undone), 0)::float8 as pending from ${OPEN}`,
  });
  return rows[0]?.pending ?? 0;
}

/**
 * Two imports that are accepted at the same moment may both take the last place.
 * @throws ApiError 429 IMPORT-BACKLOG, IMPORT-RUNNING
 */
export async function requireRoom({ pool, config }: ImportDeps, caller: Caller): Promise<void> {
  const { MAX_BACKLOG, MAX_RUNNING_IMPORTS } = config;
  if (MAX_BACKLOG > 0 && (await backlog(pool)) > MAX_BACKLOG) {
    throw refuse('IMPORT-BACKLOG', 'Too many users are waiting to be imported. Try again later.');
  }
  if (MAX_RUNNING_IMPORTS > 0 && (await runningOf(pool, caller)) >= MAX_RUNNING_IMPORTS) {
    const message = `Your organization has ${MAX_RUNNING_IMPORTS} imports that have not ended. Try again when one ends.`;
    throw refuse('IMPORT-RUNNING', message);
  }
}

/** The bulk imports that callers of this caller's organization have started and that have not ended. */
async function runningOf(db: Db, caller: Caller): Promise<number> {
  const { rows } = await db.query<{ n: number }>({
    name: 'running-imports',
    text: `select count(*)::int as n from ${OPEN} where kind = 'bulk' and resource_owner = $1`,
    values: [caller.orgId],
  });
  return rows[0]?.n ?? 0;
}

function refuse(id: string, message: string): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', id, message, { retryAfterS: RETRY_AFTER_S });
}

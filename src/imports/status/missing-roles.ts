/**
 * Which workers are missing: the roles (WORKER_ROLES) that an import waits for while no live worker has them.
 *
 * Guarantee: only reads. A worker counts as live for some seconds after it died (src/queue/worker-list.ts).
 */
import type { Pool } from '../../db/pool.ts';
import { LIVE_ROLES } from '../../queue/worker-list.ts';
import type { ImportResult } from '../answers.ts';

const WRITING = ['import', 'dispatch'];

export function missingRoles(progress: ImportResult, live: readonly string[]): string[] {
  return neededRoles(progress).filter((role) => !live.includes(role));
}

function neededRoles({ state, counts, mails, dryRun }: ImportResult): string[] {
  if (state === 'IMPORT_STATE_RUNNING' && counts.pending > 0) return WRITING;
  if (state === 'IMPORT_STATE_UNDOING') return ['rescue'];
  return mails.pending > 0 && !dryRun ? ['mail'] : [];
}

/** @throws Error when users wait to be written, and no worker is there that does it */
export async function requireWorkers(pool: { query: Pool['query'] }): Promise<void> {
  const { rows } = await pool.query<{ waits: boolean }>(
    `select not ${LIVE_ROLES} @> $1 and exists (
       select from imports where state = 'running' and deadline > clock_timestamp()
         and total > succeeded + skipped + failed + undone) as waits`,
    [WRITING],
  );
  if (rows[0]?.waits)
    throw new Error(`Users wait to be written, and no worker with the roles ${WRITING.join(' and ')} runs.`);
}

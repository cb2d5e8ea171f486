/** One round of the role `convert`: takes a job, if one waits, and does it. */
import type { Logger } from 'pino';
import { isStoreFault } from '../../platform/db/faults.ts';
import { type Pool, transaction } from '../../platform/db/pool.ts';
import { MissingKey } from '../../platform/encryption.ts';
import { ApiError, errorBody } from '../../platform/errors.ts';
import { loggable } from '../../platform/logger.ts';
import { UsageError } from '../../sources/read/records.ts';
import { endChecks } from '../intake/checks.ts';
import { type ConvertDeps, convert, type Run } from './convert.ts';
import { claimJob, endJob, type Job, RENEW_MS, releaseJob, renewJob } from './convert-lease.ts';
import { readDraft } from './draft.ts';
import { type JudgeDeps, makeCheck } from './judge.ts';

/** Workers that die of a job take it no more often than this. */
const MOST_ATTEMPTS = 5;

class Lost extends Error {}

/**
 * @param stopping ends the work; another worker then begins it again
 * @param onlyIdle takes only a job of an organization that no worker works for
 * @returns whether there was a job
 * @throws errors of the database; the job is tried again
 */
export async function convertRound(
  deps: ConvertDeps & JudgeDeps,
  holder: string,
  stopping: AbortSignal,
  onlyIdle = false,
): Promise<boolean> {
  const job = await claimJob(deps.pool, holder, onlyIdle);
  if (!job) return false;
  try {
    await doJob(deps, job, stopping);
  } catch (error) {
    if (error instanceof Lost) return true;
    if (isStoreFault(error) || error instanceof MissingKey) throw error;
    await giveUp(deps, job, error);
  } finally {
    await releaseJob(deps.pool, job).catch(() => {}); // then the lease expires
  }
  return true;
}

async function doJob(deps: ConvertDeps & JudgeDeps, job: Job, stopping: AbortSignal): Promise<void> {
  if (job.attempts > MOST_ATTEMPTS) throw new Error(`${MOST_ATTEMPTS} workers did not finish`);
  const draft = await readDraft(deps.pool, job.importId);
  if (!draft) return;
  let lost = false;
  const run: Run = {
    progress: { bytes: 0, totalBytes: 0, users: 0 },
    check() {
      if (lost || stopping.aborted) throw new Lost();
    },
    async requireJob() {
      if (!(await renewJob(deps.pool, job, run.progress))) lost = true;
      run.check();
    },
  };
  const timer = setInterval(() => run.requireJob().catch(() => {}), RENEW_MS); // `check` throws where the work is
  try {
    if (job.state === 'checking') await makeCheck(deps, job, draft, run);
    else {
      const result = await convert(deps, draft, run);
      const orgs = result.orgs.map(({ orgId }) => orgId).filter((id) => id !== '');
      const values = { result: JSON.stringify(result), orgs, error: null };
      await transaction(deps.pool, (db) => endJob(db, job, 'draft', values));
    }
  } finally {
    clearInterval(timer);
  }
}

/** The files cannot be read so: the draft says why, and can be converted again. */
async function giveUp({ pool, logger }: { pool: Pool; logger: Logger }, job: Job, error: unknown) {
  if (job.state === 'checking') {
    const isRefused = error instanceof ApiError;
    if (!isRefused) logger.error({ err: loggable(error), importId: job.importId }, 'a draft could not be checked');
    const body = isRefused
      ? errorBody(error.status, error.id, error.message)
      : errorBody('INTERNAL', 'DRAFT-CHECK', 'The check could not be made because of an internal error.');
    await transaction(pool, async (db) => {
      if (!(await endJob(db, job, 'draft', { check_id: null, error: JSON.stringify(body) }))) return;
      await endChecks(db, job.importId, { entriesStay: true });
    });
    return;
  }
  const isTheirs = error instanceof UsageError || error instanceof ApiError;
  if (!isTheirs) logger.error({ err: loggable(error), importId: job.importId }, 'a draft could not be converted');
  const message = isTheirs
    ? (error as Error).message
    : 'The files could not be converted because of an internal error.';
  const body = errorBody(isTheirs ? 'INVALID_ARGUMENT' : 'INTERNAL', 'DRAFT-UNREADABLE', message);
  const values = { error: JSON.stringify(body), result: null };
  await transaction(pool, (db) => endJob(db, job, 'unreadable', values));
}

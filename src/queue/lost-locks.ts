/**
 * Jobs that took longer than their locks: BullMQ gives them to another worker, which ends them.
 *
 * Guarantee: however many there are, they are told once a second at most, as a number.
 * On crash: what was not told yet never is; the jobs are the other worker's.
 */
import { ErrorCode } from 'bullmq';

export class LostLocks extends Error {
  readonly jobs: number;
  constructor(jobs: number) {
    super(`${jobs} ${jobs === 1 ? 'job' : 'jobs'} lost the lock and may be run by another worker as well`);
    this.jobs = jobs;
  }
}

/** They are told this long after the first of them, together with those that follow. */
const TELL_AFTER_MS = 1000;

/** What BullMQ answers about a job that is not ours any more. */
const NOT_OURS: unknown[] = [
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
];

/** Whether an end of a job was refused because the job is another worker's by now, or gone. */
export function isLost(error: unknown): boolean {
  return NOT_OURS.includes((error as { code?: unknown } | null)?.code);
}

/** Answers a function that counts one lost lock; `tell` hears of all together. */
export function countLost(tell: (lost: LostLocks) => void): () => void {
  let jobs = 0;
  return () => {
    if (jobs++ > 0) return;
    const timer = setTimeout(() => {
      tell(new LostLocks(jobs));
      jobs = 0;
    }, TELL_AFTER_MS);
    timer.unref();
  };
}

/**
 * Jobs that took longer than their locks: BullMQ gives them to another worker, which completes them.
 *
 * Guarantee: however many there are, they are reported at most once a second, as a number.
 * On crash: lost locks that were not reported yet are never reported; the other worker completes the jobs.
 */
import { ErrorCode } from 'bullmq';

export class LostLocks extends Error {
  readonly jobs: number;
  constructor(jobs: number) {
    super(`${jobs} ${jobs === 1 ? 'job' : 'jobs'} lost the lock and may be run by another worker as well`);
    this.jobs = jobs;
  }
}

/** The first lost lock is reported after this time, together with those that follow it. */
const TELL_AFTER_MS = 1000;

/** BullMQ's error codes for a job that is no longer ours. */
const NOT_OURS: unknown[] = [
  ErrorCode.JobNotExist,
  ErrorCode.JobLockNotExist,
  ErrorCode.JobNotInState,
  ErrorCode.JobLockMismatch,
];

/** Whether a job could not be completed because it now belongs to another worker, or no longer exists. */
export function isLost(error: unknown): boolean {
  return NOT_OURS.includes((error as { code?: unknown } | null)?.code);
}

/** Returns a function that counts one lost lock; `tell` is called with all of them together. */
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

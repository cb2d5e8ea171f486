/** The settings of all processes of a run. */
import { randomBytes } from 'node:crypto';

/** Short, so that a round takes seconds; all other limits are the usual ones. */
const TIMINGS = {
  JOB_LOCK_MS: '5000',
  RESCUE_AFTER_MS: '2000',
  ABANDONED_AFTER_MS: '15000',
  DATABASE_TIMEOUT_MS: '5000',
  SINGLE_IMPORT_TIMEOUT_MS: '3000',
};

/** Small batches and a short queue, so that faults meet imports in progress. */
const SLOW = { WORKER_CONCURRENCY: '10', DISPATCH_WINDOW: '200', HASH_THREADS: '1' };

export type Settings = ReturnType<typeof newSettings>;

export function newSettings() {
  return {
    ...TIMINGS,
    ...SLOW,
    BASE_URL: 'http://muster.test',
    QUEUE_PREFIX: 'chaos',
    BOOTSTRAP_TOKEN: randomBytes(24).toString('base64url'),
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    WEBHOOK_ALLOW_PRIVATE: 'true',
    RATE_LIMIT_REQUESTS: '0',
    LOG_LEVEL: 'info',
  };
}

/**
 * Retries while the database is unavailable: a restart takes seconds, a failover up to a minute.
 * On crash: nothing is left except what `work` did; this module holds no state.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { faultKind } from './sqlstates.ts';

export interface Patience {
  /** Milliseconds after which the last error is thrown. */
  ms: number;
  /** Once it returns true, nothing is retried. */
  isStopping?: () => boolean;
}

const FIRST_MS = 50;
const LAST_MS = 1000;

/** Runs `work`, and retries while it fails with a transient error. `work` must tolerate being run twice. */
export async function retryWhileUnavailable<T>(work: () => Promise<T>, patience: Patience): Promise<T> {
  const end = performance.now() + patience.ms;
  for (let wait = FIRST_MS; ; wait = Math.min(wait * 2, LAST_MS)) {
    try {
      return await work();
    } catch (error) {
      const isOver = performance.now() > end || (patience.isStopping?.() ?? false);
      if (isOver || faultKind(error) !== 'retry') throw error;
    }
    await sleep(wait);
  }
}

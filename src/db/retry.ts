/**
 * Waits for a database that is away: a restart takes seconds, a switch to another server up to a minute.
 * Holds no state; if we die here nothing is left but what `work` did.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { faultKind } from './sqlstates.ts';

export interface Patience {
  /** Milliseconds after which the last fault is thrown. */
  ms: number;
  /** Once it says so, nothing is tried again. */
  isStopping?: () => boolean;
}

const FIRST_MS = 50;
const LAST_MS = 1000;

/** Runs `work`, which must bear being run twice, until it meets no fault that may pass by itself. */
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

/**
 * A time limit for calls to a store once a worker is told to stop: an unavailable store would delay the stop forever.
 *
 * Guarantee: before the stop, calls have no limit.
 * On crash: nothing is left; this module holds no state.
 */
import { TimedOut, withTimeout } from '../timeout.ts';

const WHAT = 'the queue';

/** Returns a function that waits for a call until `ms` milliseconds after the worker was told to stop. */
export function limitAfter(stopping: AbortSignal, ms: number): <T>(call: Promise<T>) => Promise<T> {
  const waiting = new Set<(reason: Error) => void>();
  const giveUp = () => {
    for (const reject of waiting) reject(new TimedOut(WHAT, ms));
  };
  stopping.addEventListener('abort', () => setTimeout(giveUp, ms).unref(), { once: true });

  return (call) => {
    if (stopping.aborted) return withTimeout(call, ms, WHAT);
    // A race with one promise for all calls would keep them all in memory.
    return new Promise((resolve, reject) => {
      waiting.add(reject);
      // Not `finally`, which would make two more promises for each job.
      call.then(
        (value) => {
          waiting.delete(reject);
          resolve(value);
        },
        (error) => {
          waiting.delete(reject);
          reject(error);
        },
      );
    });
  };
}

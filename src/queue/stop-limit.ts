/**
 * A limit for calls to a store from the moment that a worker is told to stop: one that is away would hold the stop for ever.
 *
 * Guarantee: before the stop a call takes as long as it takes. On crash: nothing is held here.
 */
import { TimedOut, withTimeout } from '../timeout.ts';

const WHAT = 'the queue';

/** Answers what waits for a call until the worker was stopped `ms` milliseconds ago. */
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
      call.then(resolve, reject).finally(() => waiting.delete(reject));
    });
  };
}

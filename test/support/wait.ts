/** Waits for a condition, not for a fixed time. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** Default: a minute. Long enough for a slow machine, so only a condition that never becomes true fails. */
  timeoutMs?: number;
  /** Completes the sentence "Gave up after … ms waiting for". */
  what: string;
}

/**
 * Polls until `condition` returns a truthy value, and returns that.
 * @throws Error with `what` and the last value or error when time runs out
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitOptions): Promise<NonNullable<T>> {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const end = performance.now() + timeoutMs;
  let last: unknown;
  for (let pause = 2; ; pause = Math.min(pause * 1.5, 50)) {
    try {
      const value = await condition();
      if (value) return value as NonNullable<T>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      throw new Error(`Gave up after ${timeoutMs} ms waiting for ${options.what}; last seen: ${String(last)}`, {
        cause: last,
      });
    }
    await sleep(pause);
  }
}

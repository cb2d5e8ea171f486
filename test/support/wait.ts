/** Waiting for a condition instead of for a time. */
import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** A minute unless told: it tells what never comes from what is slow, and is no limit on a slow machine. */
  timeoutMs?: number;
  /** Ends the sentence "Waited … ms in vain for". */
  what: string;
}

/**
 * Polls until `condition` gives something truthy, and returns that.
 * @throws Error with `what` and the last value or error when the time is over
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
      throw new Error(`Waited ${timeoutMs} ms in vain for ${options.what}; last seen: ${String(last)}`, {
        cause: last,
      });
    }
    await sleep(pause);
  }
}

/**
 * Limits how many requests of one kind are under way in this process: for each caller, and in all.
 *
 * On crash: the counts start at 0.
 */
import { ApiError } from '../errors.ts';

export interface SlotOptions {
  perCaller: number;
  total: number;
  /** Stable id of the error. */
  id: string;
  /** What there are too many of: `large bodies`. */
  what: string;
}

export interface Slots {
  /**
   * Takes a slot; the caller of this function calls the result once, when the request is over.
   * @throws ApiError 429
   */
  take(caller: string): () => void;
}

const RETRY_AFTER_S = 1;

export function openSlots({ perCaller, total, id, what }: SlotOptions): Slots {
  const taken = new Map<string, number>();
  let all = 0;

  function add(caller: string, change: 1 | -1): void {
    const count = (taken.get(caller) ?? 0) + change;
    all += change;
    if (count === 0) taken.delete(caller);
    else taken.set(caller, count);
  }

  return {
    take(caller) {
      if (all >= total || (taken.get(caller) ?? 0) >= perCaller) {
        const message = `Too many ${what} are being processed. Try again later.`;
        throw new ApiError('RESOURCE_EXHAUSTED', id, message, { retryAfterS: RETRY_AFTER_S });
      }
      add(caller, 1);
      return () => add(caller, -1);
    },
  };
}

/**
 * Limits how many requests of one kind are under way in this process: for each key, such as a caller, and in all.
 *
 * On crash: the counts start at 0.
 */
import { ApiError } from '../errors.ts';

export interface SlotOptions {
  perKey: number;
  total: number;
  /** Stable id of the error. */
  id: string;
  /** What there are too many of: `large bodies`. */
  what: string;
}

export interface Slots {
  /**
   * Takes a slot under each key; the caller calls the result when the request is over.
   * @throws ApiError 429
   */
  take(keys: readonly string[]): () => void;
}

const RETRY_AFTER_S = 1;

export function openSlots({ perKey, total, id, what }: SlotOptions): Slots {
  const taken = new Map<string, number>();
  let all = 0;

  function add(key: string, change: 1 | -1): void {
    const count = (taken.get(key) ?? 0) + change;
    if (count === 0) taken.delete(key);
    else taken.set(key, count);
  }

  return {
    take(given) {
      const keys = [...new Set(given)];
      if (all >= total || keys.some((key) => (taken.get(key) ?? 0) >= perKey)) {
        const message = `Too many ${what} are being processed. Try again later.`;
        throw new ApiError('RESOURCE_EXHAUSTED', id, message, { retryAfterS: RETRY_AFTER_S });
      }
      all++;
      for (const key of keys) add(key, 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        all--;
        for (const key of keys) add(key, -1);
      };
    },
  };
}

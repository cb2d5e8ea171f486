import { ApiError } from '../errors.ts';

/**
 * Limits how many requests of one kind are under way in this process: for each caller, for the organization that the
 * caller belongs to, and in all.
 *
 * Guarantee: the last quarter of all slots goes only to organizations that hold none, one slot each. So a few
 * organizations whose requests take long cannot keep out the others. Reserving ends no request of anybody.
 * On crash: the counts start at 0.
 */

export interface SlotOptions {
  perCaller: number;
  perOrg: number;
  total: number;
  /** Stable id of the error. */
  id: string;
  /** What there are too many of: `large bodies`. */
  what: string;
}

/** Whose request it is; without an organization, only the caller's own requests are counted. */
export interface SlotHolder {
  userId: string;
  orgId?: string;
}

export interface Slots {
  /**
   * Takes a slot; the caller of this function calls the result once, when the request is over.
   * @throws ApiError 429
   */
  take(holder: SlotHolder): () => void;
}

const RETRY_AFTER_S = 1;
/** The part of all slots that is kept for organizations that hold none. */
const RESERVED = 1 / 4;

/** Opens the slots of one kind of request, for this process. */
export function openSlots({ perCaller, perOrg, total, id, what }: SlotOptions): Slots {
  const [callers, orgs] = [countByKey(), countByKey()];
  const reserved = Math.floor(total * RESERVED);
  let all = 0;

  return {
    take({ userId, orgId }) {
      if (callers.of(userId) >= perCaller) throw refuse(`You have ${perCaller} ${what} under way.`);
      if (orgId && orgs.of(orgId) >= perOrg) throw refuse(`Your organization has ${perOrg} ${what} under way.`);
      if (all >= total) throw refuse(`This server has ${total} ${what} under way.`);
      const held = orgId ? orgs.of(orgId) : callers.of(userId);
      if (held > 0 && total - all <= reserved)
        throw refuse(`This server keeps its last ${reserved} places for organizations without ${what} under way.`);
      const add = (change: 1 | -1) => {
        all += change;
        callers.add(userId, change);
        if (orgId) orgs.add(orgId, change);
      };
      add(1);
      return () => add(-1);
    },
  };

  function refuse(reason: string): ApiError {
    return new ApiError('RESOURCE_EXHAUSTED', id, `${reason} Try again later.`, { retryAfterS: RETRY_AFTER_S });
  }
}

function countByKey(): { of(key: string): number; add(key: string, change: 1 | -1): void } {
  const counts = new Map<string, number>();
  const of = (key: string) => counts.get(key) ?? 0;
  return {
    of,
    add(key, change) {
      const count = of(key) + change;
      if (count === 0) counts.delete(key);
      else counts.set(key, count);
    },
  };
}

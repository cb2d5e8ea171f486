/**
 * Limits how many requests of one kind are under way in this process: for each caller, for the organization that the
 * caller belongs to, and in all.
 *
 * Guarantee: the last quarter of all slots goes only to organizations that hold none, one slot each. So a few
 * organizations whose requests take long cannot keep out the others. Reserving ends no request of anybody.
 */
import { ApiError, type IdOf } from '../errors.ts';
import { openFairQueue } from '../fair-queue.ts';

export interface SlotOptions {
  perCaller: number;
  perOrg: number;
  total: number;
  /** Stable id of the error. */
  id: IdOf<'RESOURCE_EXHAUSTED'>;
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
  const reserve = Math.floor(total * RESERVED);
  const callers = openFairQueue({
    limit: Number.POSITIVE_INFINITY,
    limitPerKey: perCaller,
    refuse: () => refuse(`You have ${perCaller} ${what} under way.`),
  });
  const reasons = {
    key: `Your organization has ${perOrg} ${what} under way.`,
    limit: `This server has ${total} ${what} under way.`,
    reserve: `This server keeps its last ${reserve} places for organizations without ${what} under way.`,
  };
  const orgs = openFairQueue({ limit: total, limitPerKey: perOrg, reserve, refuse: (why) => refuse(reasons[why]) });

  function refuse(reason: string): ApiError {
    return new ApiError('RESOURCE_EXHAUSTED', id, `${reason} Try again later.`, { retryAfterS: RETRY_AFTER_S });
  }

  return {
    take({ userId, orgId }) {
      const endOfCaller = callers.take(userId);
      try {
        const endOfOrg = orgs.take(orgId ? `org ${orgId}` : `caller ${userId}`);
        return () => {
          endOfCaller();
          endOfOrg();
        };
      } catch (error) {
        endOfCaller();
        throw error;
      }
    },
  };
}

/**
 * Which parts of this process cannot do their work right now, and since when; `/readyz` shows it.
 *
 * Guarantee: it holds names and times, nothing of an error. Each part reports for itself; what was never reported works.
 * On crash: nothing is lost, as the next process finds out by itself.
 */

export interface Failure {
  part: string;
  /** RFC 3339. */
  since: string;
}

export interface Condition {
  /** The part cannot work; the time of its first failure in a row is kept. Answers whether this is the first. */
  failing(part: string): boolean;
  working(part: string): void;
  /** Parts that fail, those that failed first before the others. */
  failures(): Failure[];
}

export function openCondition(): Condition {
  const since = new Map<string, Date>();
  return {
    failing(part) {
      if (since.has(part)) return false;
      since.set(part, new Date());
      return true;
    },
    working(part) {
      since.delete(part);
    },
    failures: () => [...since].map(([part, at]) => ({ part, since: at.toISOString() })),
  };
}

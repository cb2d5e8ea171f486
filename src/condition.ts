/**
 * The parts of this process that currently fail, and since when; `/readyz` shows them.
 *
 * Guarantee: it contains names and times, nothing from an error. Each part reports its own state; a part that never
 * reported is working. On crash: nothing is lost, as the next process detects failures again.
 */

export interface Failure {
  part: string;
  /** RFC 3339. */
  since: string;
}

export interface Condition {
  /** Reports a failure; the time of the first failure in a row is kept. Returns whether this is the first. */
  failing(part: string): boolean;
  working(part: string): void;
  /** The failing parts, in the order in which they began to fail. */
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

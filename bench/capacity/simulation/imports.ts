/** The imports of a simulation: their sizes, and when each is sent. */
import type { Random } from '../../random.ts';

export interface Import {
  users: number;
  /** Seconds from the start at which its client sends it, or sends it again after 429. */
  sendAt: number;
  isSent: boolean;
  /** Users that have no job: not dispatched yet, or to be dispatched again. */
  waiting: number;
  /** Jobs in the queue and in workers. */
  queued: number;
  written: number;
  /** Jobs that a failing store lost: nobody has them until the rescuer resets the import. */
  lost: number;
  /** When something of it was last written. */
  progressAt: number;
}

/** Organizations differ widely in size: log-normal, with this standard deviation of the logarithm. */
const SPREAD = 1.5;

/** One import for each organization, sent at a random time within `within` seconds. */
export function makeImports(random: Random, orgs: number, users: number, within: number): Import[] {
  const weights = Array.from({ length: orgs }, () => Math.exp(SPREAD * random.normal()));
  const total = weights.reduce((a, b) => a + b, 0);
  let left = users;
  return weights.map((weight, n) => {
    const isLast = n === orgs - 1;
    // Those that come after it have at least one user each.
    const most = left - (orgs - 1 - n);
    const size = isLast ? left : Math.min(most, Math.max(1, Math.round((weight / total) * users)));
    left -= size;
    const none = { isSent: false, waiting: 0, queued: 0, written: 0, lost: 0, progressAt: 0 };
    return { users: size, sendAt: random.next() * within, ...none };
  });
}

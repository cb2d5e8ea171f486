/**
 * Adds up how the users of an import sign in: their facts and names while they arrive, and then the predictions.
 *
 * Guarantee: memory is bounded, whatever the import contains.
 */
import { type SignIn, type SignInCounts, WAYS, type Way } from '../../contract/sign-in.ts';
import { USUAL } from './facts.ts';

/** Different sets of names that an import counts; users with a further one count as if their providers had no name. */
export const MOST_LINK_SETS = 2000;

/** Counts the facts and links of items, by the number of their organization. */
export class FactsTally {
  private readonly counts = new Map<number, number>();
  private readonly linked = new Map<string, CountedFacts>();

  add(org: number, facts: number | null, links: string[] | null): void {
    if (links !== null) this.addLinked(org, facts ?? USUAL, links);
    else this.addPlain(org, facts ?? USUAL);
  }

  private addPlain(org: number, facts: number): void {
    const key = org * ORG_STEP + facts;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  private addLinked(org: number, facts: number, links: string[]): void {
    const key = JSON.stringify([org, facts, links]);
    const counted = this.linked.get(key);
    if (counted) counted.users++;
    else if (this.linked.size < MOST_LINK_SETS) this.linked.set(key, { org, facts, links, users: 1 });
    else this.addPlain(org, facts);
  }

  list(): CountedFacts[] {
    const plain = [...this.counts].map(([key, users]) => ({
      org: Math.floor(key / ORG_STEP),
      facts: key % ORG_STEP,
      users,
    }));
    return [...plain, ...this.linked.values()];
  }
}

/** Above all facts. */
const ORG_STEP = 2 ** 31;

/** How many users of an organization have the same facts and links. */
export interface CountedFacts {
  /** The organization's number in the import. */
  org: number;
  facts: number;
  /** See `linkNames`. */
  links?: string[];
  users: number;
}

/** Adds up predictions. */
export function countSignIns(predictions: Iterable<{ signIn: SignIn; users: number }>): SignInCounts {
  const counts: SignInCounts = {
    ways: Object.fromEntries(WAYS.map((way) => [way, 0])) as Record<Way, number>,
    causes: {},
    causesByWay: {},
    changes: {},
  };
  for (const { signIn, users } of predictions) {
    const { way, cause, changes } = signIn;
    counts.ways[way] += users;
    if (cause !== undefined) {
      counts.causes[cause] = (counts.causes[cause] ?? 0) + users;
      const ofWay = counts.causesByWay[way] ?? {};
      counts.causesByWay[way] = { ...ofWay, [cause]: (ofWay[cause] ?? 0) + users };
    }
    for (const change of changes) counts.changes[change] = (counts.changes[change] ?? 0) + users;
  }
  return counts;
}

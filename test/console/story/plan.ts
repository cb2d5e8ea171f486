/** What is planted in the files of the story, and what follows from it. */
import { type Auth0Export, auth0Export, FAULTS, type Fault, type Kind } from '../../support/imports/auth0-export.ts';

const SEED = 15;
/** Users in the files. */
export const USERS = Number(process.env.TEST_STORY_USERS ?? 3000);
/** Only a step that never ends takes so long. */
export const PATIENCE_MS = 60_000 + 5 * USERS;
/** Corrected by hand, one by one. */
const BY_HAND = 3;
/** Names that users of the organization have already. */
export const TAKEN = ['front.desk', 'payroll', 'reception', 'stock'];

/** Shares of all users, for kinds that a remedy corrects, or that are no faults. */
const PER_THOUSAND = { bracketed: 4, noAddress: 3, variant: 5, repeated: 2, unverified: 10, noPassword: 6 };

export interface Plan extends Auth0Export {
  total: number;
  counts: Record<Kind, number>;
  /** Users who fail at first. */
  failing: number;
  /** Users who fail at first and are imported in the end. */
  corrected: number;
}

/** @param total the number of lines, at least 1,000 */
export function planFor(total: number): Plan {
  const shares = Object.entries(PER_THOUSAND).map(([kind, share]) => [kind, Math.floor((total * share) / 1000)]);
  const planted = { ...Object.fromEntries(shares), longName: BY_HAND, taken: TAKEN.length };
  const others = Object.values<number>(planted).reduce((sum, n) => sum + n, 0);
  const counts: Record<Kind, number> = { ...planted, good: total - others };
  const failing = FAULTS.reduce((sum, kind) => sum + counts[kind], 0);
  const files = auth0Export({ seed: SEED, counts, takenNames: TAKEN });
  return { ...files, total, counts, failing, corrected: failing - counts.repeated };
}

/** What the console says about each planted fault, and the remedy that helps. None: each user is corrected by hand. */
export const CAUSES: Record<Fault, { name: string; remedy?: string }> = {
  bracketed: { name: 'Address must be an email address such as ann@example.com', remedy: 'Trim the email address' },
  noAddress: { name: 'Address is required', remedy: 'Make an address from the user name' },
  variant: {
    name: 'Password hash bcrypt: the variant $2e$ is not supported ($2a$, $2b$ and $2y$ are)',
    remedy: 'No password: mail a link to choose one',
  },
  longName: { name: 'First name must have at most 200 characters' },
  repeated: { name: 'This userId appears earlier in this import.', remedy: 'Keep the first of them' },
  taken: {
    name: 'A user with this user name already exists in the organization.',
    remedy: 'Use the email address as user name',
  },
};

/** Each cause with its number of users and the first five lines in which they are, from 1. */
export function causesOf(plan: Plan): { count: string; name: string; first: number[] }[] {
  return FAULTS.map((fault) => {
    const first = plan.linesOf(fault).slice(0, 5);
    return { count: n(plan.counts[fault]), name: CAUSES[fault].name, first: first.map((line) => line + 1) };
  });
}

/** A number as the console writes it. */
export function n(value: number): string {
  return value.toLocaleString('en');
}

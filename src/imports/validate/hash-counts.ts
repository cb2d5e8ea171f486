/**
 * Counts the password hashes of a body by scheme, and notes whether they will verify, for the report of a dry run.
 * Users of a password source are counted too. Keeps only the name of each scheme, never a hash.
 */
import { hashProblem, schemeSeen } from '../../passwords/registry.ts';

export interface HashCount {
  /** Such as `bcrypt`; for an unsupported scheme its identifier, such as `$argon2$`, or `unknown` without one. */
  scheme: string;
  users: number;
  /** Whether the passwords of these users will verify. */
  verifiable: boolean;
}

export interface HashLint {
  /** @param entry one element of `humanUsers`, with its fields renamed; anything JSON can hold */
  see(entry: unknown): void;
  /** A user whose password a password source knows. */
  seeAtSource(): void;
  /** The most common first. */
  list(): HashCount[];
}

const UNKNOWN = 'unknown';
const AT_SOURCE = 'password source';
/** The most entries kept, however many schemes a body seems to contain. */
const MAX_COUNTS = 100;

export function openHashLint(): HashLint {
  const counts = new Map<string, HashCount>();
  function count(scheme: string, verifiable: boolean): void {
    const key = `${scheme} ${verifiable}`;
    const found = counts.get(key) ?? { scheme, users: 0, verifiable };
    counts.set(key, found);
    found.users++;
  }
  return {
    see(entry) {
      const hash = hashOf(entry);
      if (hash === undefined) return;
      const verifiable = hashProblem(hash) === undefined;
      const scheme = schemeSeen(hash);
      const isShown = counts.size < MAX_COUNTS || counts.has(`${scheme} ${verifiable}`);
      count(isShown ? scheme : UNKNOWN, verifiable);
    },
    seeAtSource: () => count(AT_SOURCE, true),
    list: () => [...counts.values()].sort((a, b) => b.users - a.users),
  };
}

function hashOf(entry: unknown): string | undefined {
  const user = (entry as { user?: unknown } | null)?.user;
  const hashed = (user as { hashedPassword?: unknown } | null | undefined)?.hashedPassword;
  const value = (hashed as { value?: unknown } | null | undefined)?.value;
  return typeof value === 'string' ? value : undefined;
}

/**
 * Which password hashes a body holds, by scheme, and whether they will verify: told by a dry run.
 * Counts and forgets; of a hash nothing is kept but the name of its scheme.
 */
import { hashProblem, schemeSeen } from '../../passwords/registry.ts';

export interface HashCount {
  /** Such as `bcrypt`; of one that we do not know its identifier, such as `$argon2d$` or `foo_sha256`; `unknown` without that. */
  scheme: string;
  users: number;
  /** Whether the passwords of these users will verify. */
  verifiable: boolean;
}

export interface HashLint {
  /** @param entry one element of `humanUsers`, with its fields renamed; anything JSON can hold */
  see(entry: unknown): void;
  /** The most common first. */
  list(): HashCount[];
}

const UNKNOWN = 'unknown';
/** Whatever a body claims, so much is kept. */
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
    list: () => [...counts.values()].sort((a, b) => b.users - a.users),
  };
}

function hashOf(entry: unknown): string | undefined {
  const user = (entry as { user?: unknown } | null)?.user;
  const hashed = (user as { hashedPassword?: unknown } | null | undefined)?.hashedPassword;
  const value = (hashed as { value?: unknown } | null | undefined)?.value;
  return typeof value === 'string' ? value : undefined;
}

/**
 * What an import with special options records about each entry beside its item: the fields that it omits, if existing
 * users are to be skipped or updated, and for a dry run its password hash by scheme. Keeps only the name of each
 * scheme, never a hash.
 */
import { sourceOf } from '../../passwords/marks.ts';
import { hashProblem, schemeSeen } from '../../passwords/registry.ts';
import type { Extras } from './factors.ts';
import type { Item, PendingItem } from './item.ts';
import type { ImportOptions } from './options.ts';

export interface Notes {
  /**
   * @param entry with camelCase names
   * @param item the validated entry; may be extended
   * @param asBits see `noteOmitted`
   */
  take(entry: unknown, item: Item, asBits: boolean): void;
  hashes(): HashCount[];
}

export function openNotes({ dryRun, onExisting }: ImportOptions): Notes {
  const lint = openHashLint();
  return {
    take(entry, item, asBits) {
      if (dryRun) lint.see(entry);
      if (dryRun && item.state === 'pending' && sourceOf(item.passwordHash) !== undefined) lint.seeAtSource();
      // A dry run keeps none of the data that was sent.
      if (dryRun && item.state === 'failed') item.entrySealed = null;
      if (onExisting !== 'fail' && item.state === 'pending') noteOmitted(entry, item, asBits);
    },
    hashes: lint.list,
  };
}

/** The notes of a draft, which may later be checked, and started with any rule for existing users. */
export function openDraftNotes(): Notes {
  const lint = openHashLint();
  return {
    take(entry, item, asBits) {
      lint.see(entry);
      if (item.state !== 'pending') return;
      if (sourceOf(item.passwordHash) !== undefined) lint.seeAtSource();
      noteOmitted(entry, item, asBits);
    },
    hashes: lint.list,
  };
}

/**
 * The optional fields and where to find them: the first two in the entry itself, the others in its `user`. Their order is
 * that of the bits in stored items; `userId` is the lowest.
 */
const OPTIONAL = {
  userId: (entry: Part) => entry.userId,
  state: (entry: Part) => entry.state,
  userName: (_: Part, user: Part) => user.userName,
  nickName: (_: Part, user: Part) => inside(user.profile).nickName,
  // An empty display name counts as omitted: it is derived from the first and last name.
  displayName: (_: Part, user: Part) => inside(user.profile).displayName || undefined,
  preferredLanguage: (_: Part, user: Part) => inside(user.profile).preferredLanguage,
  gender: (_: Part, user: Part) => inside(user.profile).gender,
  // An import may allow users without an email address; an existing user keeps theirs.
  email: (_: Part, user: Part) => inside(user.email).email || undefined,
  isEmailVerified: (_: Part, user: Part) => inside(user.email).isEmailVerified,
  // A number that is empty counts as omitted: it means that there is none.
  phone: (_: Part, user: Part) => inside(user.phone).phone || undefined,
  isPhoneVerified: (_: Part, user: Part) => inside(user.phone).isPhoneVerified,
  passwordChangeRequired: (_: Part, user: Part) => user.passwordChangeRequired,
};

export type OmittedField = keyof typeof OPTIONAL;
const NAMES = Object.keys(OPTIONAL) as OmittedField[];

type Part = Record<string, unknown>;

/**
 * Records in the item which fields its entry omits. Intake fills them with the defaults of a new user; an update of an
 * existing user keeps their current values, and finds the user of an entry without an id by user name.
 * @param entry a valid entry with camelCase names
 * @param asBits as one number, which processes before migration 219 do not read, but takes a tenth of the bytes
 */
export function noteOmitted(entry: unknown, item: PendingItem, asBits: boolean): void {
  const user = inside(inside(entry).user);
  const omitted = NAMES.filter((field) => OPTIONAL[field](inside(entry), user) === undefined);
  if (omitted.length === 0) return;
  const unsaid = asBits ? omitted.reduce((bits, field) => bits | (1 << NAMES.indexOf(field)), 0) : omitted;
  item.extras = { ...(item.extras ?? { metadata: [], idps: [] }), unsaid };
}

/** The fields that `noteOmitted` has recorded in an item. */
export function omittedOf(unsaid: Extras['unsaid']): OmittedField[] {
  if (typeof unsaid === 'number') return NAMES.filter((_, bit) => (unsaid & (1 << bit)) !== 0);
  return (unsaid ?? []) as OmittedField[];
}

/** SQL over an item `i`: its entry has no id. */
export const OMITS_ID = `case jsonb_typeof(i.extras -> 'unsaid') when 'number' then (i.extras -> 'unsaid')::int & 1 = 1
    else coalesce(i.extras -> 'unsaid' ? 'userId', false) end`;

export interface HashCount {
  /** Such as `bcrypt`; for an unsupported scheme its identifier, such as `$argon2$`, or `unknown` without one. */
  scheme: string;
  users: number;
  /** Whether the passwords of these users will verify. */
  verifiable: boolean;
}

/** Counts hashes by scheme, and whether they will verify. Users of a password source are counted too. */
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

function inside(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}

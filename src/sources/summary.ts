/**
 * Counts what an import would send while the files are read, so that a person can decide before anything is sent.
 *
 * Guarantee: memory does not grow with the files; of each kind of problem the places of the first examples are kept,
 * never their content.
 */
import { hashProblem, schemeSeen } from '../passwords/registry.ts';
import type { Outcome } from './convert.ts';
import type { Entry } from './entry.ts';
import type { ExportFormat, Missing } from './source.ts';

/** A place in the files. */
export interface SourceLocation {
  file: string;
  line: number;
}

/** Records with the same note or problem. */
export interface Group {
  id: string;
  message: string;
  count: number;
  /** The first of them. */
  examples: SourceLocation[];
}

export interface HashGroup {
  /** Such as `bcrypt`; for an unknown scheme, its identifier. */
  scheme: string;
  verifiable: boolean;
  count: number;
  /** Why it will not verify. */
  problem?: string;
  examples: SourceLocation[];
}

/** The outcome for the records of one file. */
export interface FileCount {
  file: string;
  users: number;
  skipped: number;
}

export interface Summary {
  users: number;
  /** One for each file that has records. */
  files: FileCount[];
  orgs: { orgId: string; users: number }[];
  inactive: number;
  locked: number;
  hashes: HashGroup[];
  plainPasswords: number;
  /** Users whose id is a small number, which users of another system have too. */
  numericIds: number;
  withoutPassword: number;
  /** Users who fail unless the import allows users without an email address. */
  withoutEmail: Group | undefined;
  /** Users with neither an address nor a user name: they always fail. */
  withoutName: Group | undefined;
  /** Users with a user name, no address and no password: a manager has to set one, as no mail can. */
  unreachable: number;
  /** Users who have another user name than their address, which does not sign them in before they verify it. */
  typeUserName: number;
  /** Due now, or held back. */
  mails: { verification: number; initialisation: number };
  /** What the conversion changed or dropped. */
  notes: Group[];
  /** What users of the system may have, and no record of these files has. Empty if there are no users. */
  missing: Pick<Missing, 'id' | 'what' | 'message' | 'remedy'>[];
  /** Records that are not users to import. */
  skipped: Group[];
  /** Records that cannot be read. */
  broken: Group[];
  /** Hashes that match no user in the files. */
  unusedHashes: number;
}

/** Databases number their rows from 1. */
const SMALL_NUMBER = /^\d{1,9}$/;
const EXAMPLES = 3;
/** The most groups of a kind, whatever the files contain. */
const MAX_GROUPS = 200;
const REST = 'others';

export interface Counter {
  add(outcome: Outcome): void;
  summary(unusedHashes: number): Summary;
}

export interface CounterOptions {
  /** A password source verifies the users who have no password of their own. */
  atSource?: boolean;
  /** The system of the users. */
  source?: Pick<ExportFormat, 'missing'> | undefined;
}

export function openCounter({ atSource = false, source = {} }: CounterOptions = {}): Counter {
  const counter = new SummaryCounter(atSource, source.missing ?? []);
  // Callers pass the functions on without their object.
  return { add: (outcome) => counter.add(outcome), summary: (unusedHashes) => counter.summary(unusedHashes) };
}

class SummaryCounter {
  private readonly atSource: boolean;
  private readonly lacked: Map<string, Missing>;
  private readonly orgs = new Map<string, number>();
  private readonly files = new Map<string, FileCount>();
  private readonly hashes = new Map<string, HashGroup>();
  private readonly notes = openGroups();
  private readonly skipped = openGroups();
  private readonly broken = openGroups();
  private readonly withoutEmail = openGroups();
  private readonly withoutName = openGroups();
  private readonly numbers = {
    users: 0,
    inactive: 0,
    locked: 0,
    plainPasswords: 0,
    numericIds: 0,
    withoutPassword: 0,
    unreachable: 0,
    typeUserName: 0,
  };
  private readonly due = { verification: 0, initialisation: 0 };

  constructor(atSource: boolean, missing: readonly Missing[]) {
    this.atSource = atSource;
    this.lacked = new Map(missing.map((one) => [one.id, one]));
  }

  add({ file, line, entry, skip, problem, notes, contains = [] }: Outcome): void {
    const place = { file, line };
    const counted = this.files.get(file) ?? { file, users: 0, skipped: 0 };
    this.files.set(file, counted);
    for (const id of contains) this.lacked.delete(id);
    if (entry) counted.users++;
    if (skip !== undefined) counted.skipped++;
    for (const note of notes) this.notes.add(note.id, note.message, place);
    if (skip !== undefined) this.skipped.add('SKIPPED', skip, place);
    if (problem !== undefined) this.broken.add('BROKEN', `The record ${problem}.`, place);
    if (entry) this.addEntry(entry, place);
  }

  summary(unusedHashes: number): Summary {
    return {
      ...this.numbers,
      files: [...this.files.values()],
      orgs: [...this.orgs].map(([orgId, users]) => ({ orgId, users })).sort((a, b) => b.users - a.users),
      hashes: [...this.hashes.values()].sort((a, b) => b.count - a.count),
      withoutEmail: this.withoutEmail.list()[0],
      withoutName: this.withoutName.list()[0],
      mails: this.due,
      notes: this.notes.list(),
      missing: this.missing(),
      skipped: this.skipped.list(),
      broken: this.broken.list(),
      unusedHashes,
    };
  }

  private missing(): Summary['missing'] {
    if (this.numbers.users === 0) return [];
    return [...this.lacked.values()].map(({ id, what, message, remedy }) => ({ id, what, message, remedy }));
  }

  private addEntry(entry: Entry, place: SourceLocation): void {
    const { numbers, due, atSource } = this;
    numbers.users++;
    count(this.orgs, entry.orgId);
    if (SMALL_NUMBER.test(entry.userId ?? '')) numbers.numericIds++;
    if (entry.state === 'USER_STATE_INACTIVE') numbers.inactive++;
    if (entry.state === 'USER_STATE_LOCKED') numbers.locked++;
    const hash = entry.user.hashedPassword?.value;
    const hasPassword = hash !== undefined || entry.user.password !== undefined;
    if (entry.user.password !== undefined) numbers.plainPasswords++;
    if (!hasPassword) numbers.withoutPassword++;
    const isGood = hash === undefined || addHash(this.hashes, hash, place);
    const hasEmail = entry.user.email.email !== undefined;
    if (!hasEmail) this.addWithoutEmail(entry, place, { hasPassword });
    else if ((hasPassword || atSource) && needsUserName(entry)) numbers.typeUserName++;
    const isActive = entry.state === undefined;
    if (!isGood || !isActive || !hasEmail) return;
    if (!hasPassword && !atSource) due.initialisation++;
    else if (!entry.user.email.isEmailVerified) due.verification++;
  }

  private addWithoutEmail({ user }: Entry, place: SourceLocation, { hasPassword }: { hasPassword: boolean }): void {
    this.withoutEmail.add('EMAIL-MISSING', 'The user has no email address.', place);
    if (user.userName === undefined) this.withoutName.add('NAME-MISSING', 'The user has no user name.', place);
    else if (!hasPassword) this.numbers.unreachable++;
  }
}

/** A person who sets the first password by a mailed link verifies the address by it. */
function needsUserName({ user: { userName, email } }: Entry): boolean {
  return !email.isEmailVerified && userName !== undefined && userName.toLowerCase() !== email.email?.toLowerCase();
}

function addHash(groups: Map<string, HashGroup>, hash: string, place: SourceLocation): boolean {
  const problem = hashProblem(hash);
  const scheme = schemeSeen(hash);
  const key = `${scheme} ${problem ?? ''}`;
  let group = groups.get(key);
  if (!group) {
    if (groups.size >= MAX_GROUPS) return problem === undefined;
    group = {
      scheme,
      verifiable: problem === undefined,
      count: 0,
      ...(problem === undefined ? {} : { problem }),
      examples: [],
    };
    groups.set(key, group);
  }
  group.count++;
  if (group.examples.length < EXAMPLES) group.examples.push(place);
  return problem === undefined;
}

export interface Groups {
  add(id: string, message: string, place: SourceLocation): void;
  /** The largest first. */
  list(): Group[];
}

export function openGroups(): Groups {
  const groups = new Map<string, Group>();
  return {
    add(id, message, place) {
      const key = `${id} ${message}`;
      const isRest = !groups.has(key) && groups.size >= MAX_GROUPS;
      const found = isRest ? groups.get(REST) : groups.get(key);
      const group = found ?? {
        id: isRest ? REST : id,
        message: isRest ? 'Other reasons.' : message,
        count: 0,
        examples: [],
      };
      groups.set(isRest ? REST : key, group);
      group.count++;
      if (group.examples.length < EXAMPLES) group.examples.push(place);
    },
    list: () => [...groups.values()].sort((a, b) => b.count - a.count),
  };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** What the callers of a round sent, and what they were answered: the checker compares the database with it. */
import type { PlannedImport } from '../plan/imports.ts';

/** What must become of an entry if its import runs to its end. */
export type Fate = 'created' | 'updated' | 'skipped' | 'failed';

export interface SentUser {
  orgId: string;
  /** Unique in the run, except for entries that repeat another one. */
  userName: string;
  /** Absent: the service chooses it. */
  userId?: string | undefined;
  email: string;
  /** Those that it may have: updates that run at the same time come in any order. */
  familyNames: readonly string[];
  state: 'active' | 'inactive' | 'initial';
  fate: Fate;
  /** Whether the creation of this user is due a mail. */
  mailDue: boolean;
}

export interface SentImport {
  /** For people: `3-b` is the import b of round 3. */
  name: string;
  /** In the order of the body. */
  users: SentUser[];
  dryRun: boolean;
  /** It was sent with `mails=none`, and no `_send_mails` was sent. */
  held: boolean;
  webhook: boolean;
  /** The id in each of the answers to its requests, which all have the same key. */
  importIds: Set<string>;
  /**
   * Times, in milliseconds since 1970, between which no user of the import may be written: from the answer that it has
   * stopped until a request that makes it run again.
   */
  stopped: { from: number; until: number }[];
  /** What the callers themselves found wrong. */
  problems: Problem[];
}

/** An import that is about to be sent. */
export function sentImport(name: string, people: { sent: SentUser }[], planned: PlannedImport): SentImport {
  return {
    name,
    users: people.map(({ sent }) => sent),
    dryRun: planned.dryRun,
    held: planned.mails === 'none',
    webhook: planned.webhook,
    importIds: new Set(),
    stopped: [],
    problems: [],
  };
}

export const KINDS = [
  'lost',
  'doubled',
  'late',
  'stuck',
  'wrongCounts',
  'mailsMissing',
  'mailsDoubled',
  'webhooksMissing',
  'webhooksDoubled',
] as const;
export type Kind = (typeof KINDS)[number];

export interface Problem {
  kind: Kind;
  /** The name of the import. */
  name: string;
  importId: string;
  what: string;
  /** The users, mails or messages; how many of them there are counts. */
  ids: string[];
}

/** Undefined where nothing is wrong. */
export function problem(sent: SentImport, kind: Kind, what: string, ids: string[]): Problem | undefined {
  if (ids.length === 0) return undefined;
  return { kind, name: sent.name, importId: idOf(sent) ?? '', what, ids };
}

/** The first id that a caller was answered; undefined when the import was never accepted. */
export function idOf(sent: SentImport): string | undefined {
  return [...sent.importIds][0];
}

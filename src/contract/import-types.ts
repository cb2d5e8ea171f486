/**
 * What the API answers about imports, as the service writes it and the console and the command line read it.
 * `/openapi.json` describes it to everybody else.
 */
import type { Details } from '../platform/db/events.ts';
import type { ErrorBody } from '../platform/errors.ts';

export interface Counts {
  total: number;
  pending: number;
  succeeded: number;
  skipped: number;
  failed: number;
  timedOut: number;
  cancelled: number;
  undone: number;
}

export interface ImportResult {
  importId: string;
  state: string;
  dryRun: boolean;
  /** The system that the users come from, if it is known. */
  source?: string;
  timeout: string;
  /** RFC 3339; absent before the start of a draft. */
  startDate?: string;
  /** RFC 3339. While the import is paused, it moves forward with the clock. */
  deadline: string;
  counts: Counts;
  mails: { pending: number; held: number; sent: number; failed: number };
  usersPerSecond: number;
  /** RFC 3339; null when the import does not run or has settled no item yet. */
  eta: string | null;
  orgs: { orgId: string; counts: Counts }[];
  details: Details;
}

/** How many of the newest imports are in each state. */
export interface StateCounts {
  /** The count by the name of the state, with `IMPORT_STATE_`; drafts are not counted here. */
  states: Record<string, number>;
  /** Imports that have not started. */
  drafts: number;
  /** There are more imports than are counted. */
  isCapped: boolean;
}

export interface ItemView {
  index: number;
  orgId: string;
  userId: string;
  userName: string;
  state: string;
  error?: ErrorBody;
  /** Why an undo kept the user; one of KEPT. */
  kept?: string;
  /** The fields of an existing user that the import changed, by their names in the import. */
  changed?: string[];
  /** The user has no email address; only in reports of imports that allow it. */
  withoutEmail?: true;
}

/** An item with its entry, without hashes and secrets; no entry once the user is written or the data erased. */
export interface ItemWithEntry extends ItemView {
  entry?: Record<string, unknown>;
}

export interface RatePoint {
  /** End of the interval, RFC 3339. */
  at: string;
  /** How long the import ran since the previous point. */
  seconds: number;
  /** Users settled in the interval. */
  succeeded: number;
  skipped: number;
  failed: number;
  usersPerSecond: number;
}

export interface UndoPreview {
  /** Users that an undo would remove; those already removed do not count. */
  removed: number;
  kept: number;
  /** Why users are kept; the most common reason first. Their counts sum to `kept`. */
  reasons: { reason: string; users: number }[];
}

export const REMEDIES = [
  'trim-email',
  'drop-hash',
  'email-as-user-name',
  'user-name-as-email',
  'keep-first',
  'leave-out',
] as const;
export type Remedy = (typeof REMEDIES)[number];

export interface Cause {
  /** Identifies the cause among all causes of all imports: a short hash of the fields below. */
  cause: string;
  /** Stable error id. */
  id: string;
  /** Path of the invalid field, array indices left out; absent if the error concerns the user as a whole. */
  field?: string;
  /** The scheme of a password hash, such as `bcrypt`, or `$2e$` if it is not supported. */
  scheme?: string;
  message: string;
  remedies: readonly Remedy[];
}

export interface CountedCause extends Cause {
  /** Entries that failed for it; one with several invalid fields counts in each of their causes. */
  count: number;
  /** The first five entries, in body order. */
  first: { index: number; orgId: string; userId: string; userName: string }[];
}

export interface Causes {
  /** Failed users, corrected ones included. */
  failed: number;
  /** Failed users whose entries were corrected; `_retry` imports them. */
  corrected: number;
  /** The most common first, at most MAX_CAUSES. */
  causes: CountedCause[];
  /** How many causes there are in addition to these. */
  moreCauses: number;
  /** RFC 3339. */
  asOf: string;
}

export interface FixExample {
  index: number;
  orgId: string;
  userId: string;
  userName: string;
  /** What the remedy changes, without hashes; absent when the user is left out. */
  field?: string;
  before?: unknown;
  after?: unknown;
}

export interface FixAnswer {
  /** Entries that were corrected or left out, or would be. */
  changed: number;
  /** Entries of the cause that the remedy does not correct. */
  unchanged: number;
  /** The first five, with `dryRun`. */
  examples?: FixExample[];
  /** Where to continue; null when the whole cause is done. */
  next: number | null;
}

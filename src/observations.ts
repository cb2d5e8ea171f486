/**
 * What this process has just done, told to those who count it: `/metrics` subscribes (src/metrics/).
 *
 * Uses `node:diagnostics_channel`, so publishing costs next to nothing while nobody subscribes, and the parts that
 * publish need not know who does.
 * Guarantee: an observation contains numbers and names of ours, no data of users.
 * On crash: a count may lack what was done last; the database has the truth.
 */
import { type Channel, channel } from 'node:diagnostics_channel';

export interface Observations {
  /** `succeeded`, or why it failed (src/audit/sign-ins.ts). */
  signIn: string;
  /** What a password source answered. */
  passwordSource: 'yes' | 'no' | 'unavailable';
  /** The grant type of a successful token request. */
  token: string;
  /** Users whose outcome was committed; those of dry runs are not counted. */
  users: { succeeded?: number; skipped?: number; failed?: number; undone?: number };
  importEnded: { state: EndState } & Ran;
  /** A batch that was written: the number of its users, and how long its statements took. */
  batch: { users: number; seconds: number };
  importFault: 'retry' | 'data' | 'other';
  /** The number of stuck imports that were dispatched again. */
  rescues: number;
  /** The number of abandoned uploads that were removed. */
  uploadsRemoved: number;
  /** How long a job waited in its queue, in seconds. */
  jobStarted: { queue: string; waited: number };
  mail: Attempt;
  webhook: Attempt;
}

export const END_STATES = ['succeeded', 'completed_with_errors', 'timed_out', 'cancelled', 'undone'] as const;
export type EndState = (typeof END_STATES)[number];
/** How an attempt to send something ended. */
export type Attempt = 'sent' | 'retry' | 'failed';

export interface Ran {
  importId: string;
  kind: 'bulk' | 'single';
  dryRun: boolean;
  /** How long the import ran, in seconds. */
  seconds: number;
}

type Name = keyof Observations;

/** Kept here, as Node.js drops a channel that nobody refers to, with its subscribers. */
const channels = new Map<Name, Channel>();

function channelOf(name: Name): Channel {
  const found = channels.get(name) ?? channel(`muster:${name}`);
  channels.set(name, found);
  return found;
}

export function publish<K extends Name>(name: K, observation: Observations[K]): void {
  channelOf(name).publish(observation);
}

/** Calls `count` with each later observation of this process. */
export function subscribe<K extends Name>(name: K, count: (observation: Observations[K]) => void): void {
  channelOf(name).subscribe((message) => count(message as Observations[K]));
}

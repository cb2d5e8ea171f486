/** What a simulation is given, what it keeps between two steps, and what comes out. */
import type { Size } from '../model.ts';
import type { Import } from './imports.ts';

export interface Scenario {
  seed: number;
  users: number;
  orgs: number;
  /** Seconds within which all clients send for the first time. */
  sentWithin: number;
  /** Each worker process has one core. */
  size: Size;
  /** Mean time between two deaths of a worker, and how long its successor takes to start, in seconds. */
  churn: { meanLife: number; startS: number };
  /** One master of Redis dies at this time, for so long; it loses the jobs that were added in the last seconds. */
  failover: { at: number; downS: number; lostS: number };
}

export interface Outcome {
  seconds: number;
  written: number;
  usersPerSecond: number;
  /** The most users that were accepted and not yet written. */
  backlog: number;
  /** The most megabytes of one Redis server. */
  redisMegabytes: number;
  /** Uploads that were answered 429 and sent again. */
  refused: number;
  deaths: number;
  /** Jobs that were in a worker when it died, and were processed again. */
  repeated: number;
  lostJobs: number;
  /** Imports that the rescuer dispatched again. */
  rescues: number;
}

export interface State {
  now: number;
  imports: Import[];
  /** Those that are accepted and have not ended. */
  open: Import[];
  /** Users that the API can read now; below 0 while it still reads a large upload. */
  room: number;
  /** When the successor of each dead worker is ready. */
  starting: number[];
  nextDeath: number;
  /** Jobs that died with their worker, and when their locks expire. */
  locked: { until: number; jobs: number }[];
  outcome: Outcome;
}

export const STEP_S = 0.1;

export function queuedJobs({ open }: State): number {
  return open.reduce((sum, one) => sum + one.queued, 0);
}

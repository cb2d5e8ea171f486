/**
 * How many jobs a worker process has in progress: its share of the queue, or one at a time while it cannot write.
 *
 * Guarantee: a process that cannot reach the database takes one job at a time and leaves the rest to other processes;
 * the rescuer dispatches the jobs that it holds again. It returns to its share with the first batch that reaches the
 * database.
 * On crash: the locks of its jobs expire; this module holds no other state.
 */
import { BatchFault, type BatchStore } from '../src/imports/run/batch-writer.ts';

export interface Share {
  /** Sets how many processes take jobs from the queue. */
  among(processes: number): void;
  /** Returns the same store, whose outcomes from now on decide whether the database is unavailable. */
  watch(store: BatchStore): BatchStore;
}

/** With fewer jobs, batches would be too small. */
const LEAST = 100;

/** @param limit sets how many jobs are in progress at once */
export function openShare(concurrency: number, limit: (jobs: number) => void): Share {
  let share = concurrency;
  let isAway = false;

  function setAway(away: boolean): void {
    if (away === isAway) return;
    isAway = away;
    limit(isAway ? 1 : share);
  }
  return {
    among(processes) {
      share = shareOf(concurrency, processes);
      limit(isAway ? 1 : share);
    },
    watch: (store) => ({
      ...store,
      async write(importId, ordinals) {
        try {
          const sealed = await store.write(importId, ordinals);
          setAway(false);
          return sealed;
        } catch (error) {
          // Other errors come from a database that answers, about this import or its rows, or are bugs of ours.
          setAway(error instanceof BatchFault && error.kind === 'retry');
          throw error;
        }
      },
    }),
  };
}

/**
 * How many jobs one of several processes has in progress. Together they have about as many as one would have alone: if
 * each took that many, they would empty the queue, and batches would shrink as more processes wait for the next jobs.
 */
export function shareOf(concurrency: number, processes: number): number {
  return Math.min(concurrency, Math.max(LEAST, Math.ceil(concurrency / Math.max(1, processes))));
}

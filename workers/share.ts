/**
 * How many jobs a worker process has in progress: its share of the queue, and one at a time while it cannot write.
 *
 * Guarantee: a process whose database is away takes no job that another one could do; those that it holds are handed out
 * again by the rescuer. It goes back to its share with the first batch that reaches the database.
 * Holds no state that matters. On crash: the locks of its jobs run out.
 */
import { BatchFault, type BatchStore } from '../src/imports/run/batch-writer.ts';

export interface Share {
  /** So many processes take jobs of the queue. */
  among(processes: number): void;
  /** The same store; from now on its outcomes count. */
  watch(store: BatchStore): BatchStore;
}

/** Fewer would make small batches. */
const LEAST = 100;

/** @param limit sets how many jobs are in progress at once */
export function openShare(concurrency: number, limit: (jobs: number) => void): Share {
  let share = concurrency;
  let isAway = false;

  function heard(away: boolean): void {
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
          heard(false);
          return sealed;
        } catch (error) {
          // The others are what the database says of this import, or of its rows, and errors of ours.
          heard(error instanceof BatchFault && error.kind === 'retry');
          throw error;
        }
      },
    }),
  };
}

/**
 * How many jobs one of several processes has in progress. Together they have about what one would have alone: many that may
 * each take as much empty the queue, and batches get smaller the more of them wait for the next jobs.
 */
export function shareOf(concurrency: number, processes: number): number {
  return Math.min(concurrency, Math.max(LEAST, Math.ceil(concurrency / Math.max(1, processes))));
}

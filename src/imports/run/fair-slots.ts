import { HandBack } from '../queue/worker.ts';
/**
 * Fair scheduling (round robin over imports) of a limited resource: the threads that hash passwords.
 *
 * Guarantee: the work of one import runs in order, and an import with little work waits for at most one piece of work
 * of each other import, however much they have waiting. Kept in memory. On crash: the jobs that need the work are
 * processed again.
 */

export interface FairSlots {
  /**
   * Runs `work` when it is the import's turn.
   * @throws HandBack when the slots were stopped before
   */
  run<T>(importId: string, work: () => Promise<T>): Promise<T>;
  /** Begins no more work; what runs goes on. */
  stop(): void;
}

/** @param atOnce how many pieces of work may run at once, over all imports */
export function createFairSlots(atOnce: number): FairSlots {
  /** The waiting work by import, in the order of their turns. */
  const waiting = new Map<string, (() => void)[]>();
  let running = 0;
  let stopped = false;

  function next(): void {
    for (const [importId, starts] of waiting) {
      if (running >= atOnce && !stopped) return;
      running++;
      const start = starts.shift() as () => void;
      waiting.delete(importId);
      if (starts.length > 0) waiting.set(importId, starts);
      start();
    }
  }

  return {
    async run(importId, work) {
      await new Promise<void>((start) => {
        const starts = waiting.get(importId) ?? [];
        starts.push(start);
        waiting.set(importId, starts);
        next();
      });
      try {
        if (stopped) throw new HandBack();
        return await work();
      } finally {
        running--;
        next();
      }
    },
    stop() {
      stopped = true;
      next();
    },
  };
}

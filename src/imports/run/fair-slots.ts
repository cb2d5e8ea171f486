/**
 * Imports take turns at what only so many can have at once: the threads that hash passwords.
 *
 * Guarantee: work is done in order within an import, and an import with little to do waits for at most one piece of each
 * other one, however much those have waiting. Held in memory; if we die here the jobs behind the work come again.
 */

export interface FairSlots {
  /** Does `work` when it is the import's turn. */
  run<T>(importId: string, work: () => Promise<T>): Promise<T>;
}

/** @param atOnce pieces of work under way, over all imports */
export function createFairSlots(atOnce: number): FairSlots {
  /** By import, whose turn is next first. */
  const waiting = new Map<string, (() => void)[]>();
  let underWay = 0;

  function next(): void {
    for (const [importId, starts] of waiting) {
      if (underWay >= atOnce) return;
      underWay++;
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
        return await work();
      } finally {
        underWay--;
        next();
      }
    },
  };
}

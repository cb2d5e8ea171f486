/** A fake database for the batch writer: fails where the test says so, and records its calls. */
import { BatchFault, type BatchStore } from '../../../src/imports/run/batch-writer.ts';

export type Trouble = 'none' | 'retry' | 'unknown';

export interface FakePlan {
  /** The fault of the n-th write, before it reads its items; no fault after the end of the list. */
  troubles?: Trouble[];
  /** Items that the database refuses. */
  refused?: (importId: string, ordinal: number) => boolean;
  /** Items with a plain password that must be hashed first. */
  sealed?: (importId: string, ordinal: number) => boolean;
  /** Imports that do not run. */
  stopped?: (importId: string) => boolean;
  /** If true, settling an item as failed fails too. */
  poisonFails?: boolean;
  /** Runs during each write. */
  during?: (importId: string, ordinals: number[]) => Promise<void> | void;
}

export interface FakeStore extends BatchStore {
  /** Every write, in order, successful or not. */
  calls: { importId: string; ordinals: number[] }[];
  /** `import/ordinal` of each item written, once for each write. */
  written: string[];
  poisoned: string[];
  /** The most concurrent writes: over all imports, and for one import. */
  most: { flushes: number; perImport: number };
}

export const key = (importId: string, ordinal: number) => `${importId}/${ordinal}`;

export function fakeStore(plan: FakePlan = {}): FakeStore {
  const underWay = new Map<string, number>();
  const store: FakeStore = {
    calls: [],
    written: [],
    poisoned: [],
    most: { flushes: 0, perImport: 0 },
    async write(importId, ordinals) {
      const trouble = plan.troubles?.[store.calls.length] ?? 'none';
      store.calls.push({ importId, ordinals });
      underWay.set(importId, (underWay.get(importId) ?? 0) + 1);
      store.most.perImport = Math.max(store.most.perImport, underWay.get(importId) as number);
      store.most.flushes = Math.max(
        store.most.flushes,
        [...underWay.values()].reduce((a, b) => a + b),
      );
      try {
        await plan.during?.(importId, ordinals);
        return judge(importId, ordinals, trouble);
      } finally {
        underWay.set(importId, (underWay.get(importId) as number) - 1);
      }
    },
    async poison(importId, ordinal) {
      if (plan.poisonFails) throw new Error('the database is unavailable');
      store.poisoned.push(key(importId, ordinal));
    },
  };

  function judge(importId: string, ordinals: number[], trouble: Trouble): number[] {
    if (trouble === 'retry') throw new BatchFault('retry', new Error('the connection broke'));
    if (trouble === 'unknown') throw new Error('an unexpected error');
    if (plan.stopped?.(importId)) throw new BatchFault('not-running', new Error('MU001'));
    if (ordinals.some((o) => plan.refused?.(importId, o))) throw new BatchFault('data', new Error('an invalid row'));
    store.written.push(...ordinals.map((o) => key(importId, o)));
    return ordinals.filter((o) => plan.sealed?.(importId, o));
  }

  return store;
}

/** Lets all ready callbacks run, `times` rounds of the event loop. */
export async function turns(times: number): Promise<void> {
  for (let i = 0; i < times; i++) await new Promise((resolve) => setImmediate(resolve));
}

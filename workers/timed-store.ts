/** Tells `/metrics` the size and the duration of each batch that was written. */
import type { BatchStore } from '../src/imports/run/batch-writer.ts';
import { publish } from '../src/observations.ts';

export function timed(store: BatchStore): BatchStore {
  return {
    ...store,
    async write(importId, ordinals) {
      const began = performance.now();
      const sealed = await store.write(importId, ordinals);
      publish('batch', { users: ordinals.length, seconds: (performance.now() - began) / 1000 });
      return sealed;
    },
  };
}

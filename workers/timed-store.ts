/** Records each batch, and tells `/metrics` the size and the duration of each that was written. */
import type { BatchStore } from '../src/imports/run/batch-writer.ts';
import { publish } from '../src/observations.ts';
import { inImport } from '../src/spans.ts';

export function timed(store: BatchStore): BatchStore {
  return {
    ...store,
    async write(importId, ordinals) {
      const began = performance.now();
      const sealed = await inImport(importId, 'import.batch', { 'muster.users': ordinals.length }, () =>
        store.write(importId, ordinals),
      );
      publish('batch', { users: ordinals.length, seconds: (performance.now() - began) / 1000 });
      return sealed;
    },
  };
}

/**
 * What an import with options of its own notes about each entry while it comes in: fields that are left open, where users
 * who exist are not simply refused, and hashes, for a dry run.
 */
import type { Item } from '../items.ts';
import type { ImportOptions } from '../options.ts';
import { type HashCount, openHashLint } from '../validate/hash-counts.ts';
import { noteOmitted } from '../validate/omitted-fields.ts';

export interface Notes {
  /** @param entry with its fields renamed, and `item` as it was judged; may add to the item */
  take(entry: unknown, item: Item): void;
  hashes(): HashCount[];
}

export function openNotes({ dryRun, onExisting }: ImportOptions): Notes {
  const lint = openHashLint();
  return {
    take(entry, item) {
      if (dryRun) lint.see(entry);
      // Nothing that was sent outlives a dry run.
      if (dryRun && item.state === 'failed') item.entrySealed = null;
      if (onExisting !== 'fail' && item.state === 'pending') noteOmitted(entry, item);
    },
    hashes: lint.list,
  };
}

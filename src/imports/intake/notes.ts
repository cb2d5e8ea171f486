/**
 * What an import with special options records about each entry during the upload: the omitted fields, if existing users
 * are to be skipped or updated, and the password hashes, for a dry run.
 */
import { sourceOf } from '../../passwords/at-source.ts';
import type { Item } from '../items.ts';
import type { ImportOptions } from '../options.ts';
import { type HashCount, openHashLint } from '../validate/hash-counts.ts';
import { noteOmitted } from '../validate/omitted-fields.ts';

export interface Notes {
  /** @param entry with camelCase names. @param item the validated entry; may be extended */
  take(entry: unknown, item: Item): void;
  hashes(): HashCount[];
}

/** For a draft, of which both may be asked later. */
export function openDraftNotes(): Notes {
  const lint = openHashLint();
  return {
    take(entry, item) {
      lint.see(entry);
      if (item.state !== 'pending') return;
      if (sourceOf(item.passwordHash) !== undefined) lint.seeAtSource();
      noteOmitted(entry, item);
    },
    hashes: lint.list,
  };
}

export function openNotes({ dryRun, onExisting }: ImportOptions): Notes {
  const lint = openHashLint();
  return {
    take(entry, item) {
      if (dryRun) lint.see(entry);
      if (dryRun && item.state === 'pending' && sourceOf(item.passwordHash) !== undefined) lint.seeAtSource();
      // A dry run keeps none of the data that was sent.
      if (dryRun && item.state === 'failed') item.entrySealed = null;
      if (onExisting !== 'fail' && item.state === 'pending') noteOmitted(entry, item);
    },
    hashes: lint.list,
  };
}

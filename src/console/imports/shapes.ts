/** Imports as the screens of the console read them (`imports/answers.ts` has what the API answers). */
import type { Counts, ImportResult } from '../../imports/answers.ts';

export type { Counts, ItemView as Item, RatePoint, StateCounts, UndoPreview } from '../../imports/answers.ts';

export interface Progress extends ImportResult {
  /** Before it starts. */
  draft?: { files: { name: string; size: number; offset: number }[] };
  /** Roles of workers that it waits for; not in the list. */
  missingRoles?: string[];
}

export interface Result extends Progress {
  warnings: { path?: string; field?: string; count?: number; message?: string }[];
  webhook?: { state: string; attempts: number; lastError?: string };
}

export function stateOf({ state }: { state: string }): string {
  return state.replace(/^(?:IMPORT|ITEM)_STATE_/, '');
}

export function settled({ succeeded, skipped, failed, undone }: Counts): number {
  return succeeded + skipped + failed + undone;
}

export function open({ counts }: Progress): number {
  return counts.total - settled(counts);
}

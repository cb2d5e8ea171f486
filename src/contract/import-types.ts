/**
 * What the API answers about imports, for those who write it and those who read it, by the schemas of
 * import-results.ts. In a file without zod, which the command line need not load.
 */
import type { z } from 'zod';
import type * as shapes from './import-results.ts';

export type ImportResult = z.input<typeof shapes.progress>;
export type Counts = ImportResult['counts'];
/** How many of the newest imports are in each state. */
export type StateCounts = z.input<typeof shapes.stateCounts>;
export type ItemView = z.input<typeof shapes.item>;
/** An item with its entry, without hashes and secrets; no entry once the user is written or the data erased. */
export type ItemWithEntry = z.input<typeof shapes.itemWithEntry>;
export type RatePoint = z.input<typeof shapes.rates>['points'][number];
export type UndoPreview = z.input<typeof shapes.undoPreview>;

export type Causes = z.input<typeof shapes.causes>;
export type CountedCause = Causes['causes'][number];
/** A cause without the entries that failed for it. */
export type Cause = Omit<CountedCause, 'count' | 'first' | 'fixes' | 'examined'>;

export type FixAnswer = z.input<typeof shapes.fixed>;
export type FixExample = NonNullable<FixAnswer['examples']>[number];

/**
 * Optimistic path: inserts a batch without conflict handling. On a unique violation, writes the batch again with
 * conflict handling, and keeps doing so for the import's next 50 batches, as an import that conflicts once usually
 * conflicts again.
 */
import { sqlState } from '../../db/sqlstates.ts';
import type { BatchRule } from './conflict-rules.ts';

/** Batches after a conflict that are written with conflict handling. */
const CAREFUL_BATCHES = 50;
const UNIQUE_VIOLATION = '23505';

type Write = (importId: string, ordinals: number[], rule: BatchRule) => Promise<number>;

export function optimistically(write: Write): (importId: string, ordinals: number[]) => Promise<number> {
  const careful = { importId: '', batches: 0 };
  return async (importId, ordinals) => {
    if (careful.importId === importId && careful.batches > 0) {
      careful.batches--;
      return write(importId, ordinals, 'fail');
    }
    try {
      return await write(importId, ordinals, 'optimistic');
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      careful.importId = importId;
      careful.batches = CAREFUL_BATCHES;
      return write(importId, ordinals, 'fail');
    }
  };
}

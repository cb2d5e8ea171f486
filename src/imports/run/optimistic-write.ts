/**
 * The usual batch is written in the short way, which takes it that no user of it exists. Where one does, the batch is written
 * again in the way that looks, and so are the next ones of that import: who conflicts once mostly conflicts more.
 */
import { sqlState } from '../../db/sqlstates.ts';
import type { BatchRule } from './conflict-rules.ts';

/** Batches after a conflict that are not written in the short way. */
const CAREFUL_BATCHES = 50;
const UNIQUE_VIOLATION = '23505';

type Write = (importId: string, ordinals: number[], rule: BatchRule) => Promise<number>;

export function optimistically(write: Write): (importId: string, ordinals: number[]) => Promise<number> {
  const wary = { importId: '', batches: 0 };
  return async (importId, ordinals) => {
    if (wary.importId === importId && wary.batches > 0) {
      wary.batches--;
      return write(importId, ordinals, 'fail');
    }
    try {
      return await write(importId, ordinals, 'optimistic');
    } catch (error) {
      if (sqlState(error) !== UNIQUE_VIOLATION) throw error;
      wary.importId = importId;
      wary.batches = CAREFUL_BATCHES;
      return write(importId, ordinals, 'fail');
    }
  };
}

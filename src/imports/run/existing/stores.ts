/**
 * The batch writer's stores of imports with options of their own.
 *
 * Guarantee: a write settles every item that it can; what it leaves holds a sealed password and is named.
 */
import type { Pool } from '../../../db/pool.ts';
import type { Special } from '../../job.ts';
import type { BatchStore } from '../batch-writer.ts';
import { batchStore, storeOf } from '../process.ts';
import { writeBatch } from '../write-batch.ts';
import { dryBatch } from './dry-batch.ts';
import { updateBatch } from './update-batch.ts';

/** A user may come or go between the two halves of an update so many times before the batch is tried again as a whole. */
const MAX_ROUNDS = 5;

export function specialStores(pool: Pool, settings: { codeTtlMs: number }): Record<Special, BatchStore> {
  return {
    skip: batchStore(pool, settings, 'skip'),
    update: storeOf(pool, (importId, ordinals) => createOrUpdate(pool, importId, ordinals, settings)),
    dry: storeOf(pool, (importId, ordinals) => dryBatch(pool, importId, ordinals)),
  };
}

/** New users by the statement that writes all others, and then whoever was there already. */
async function createOrUpdate(
  pool: Pool,
  importId: string,
  ordinals: number[],
  settings: { codeTtlMs: number },
): Promise<number[]> {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const created = await writeBatch(pool, importId, ordinals, settings, 'update');
    if (created === ordinals.length) return [];
    const { sealed, missing } = await updateBatch(pool, importId, ordinals, settings);
    if (missing === 0) return sealed;
  }
  throw new Error('users of the batch came and went again and again');
}

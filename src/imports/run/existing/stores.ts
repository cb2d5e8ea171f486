/**
 * The batch writer's stores for imports that skip or update existing users, and for dry runs.
 *
 * Guarantee: a write settles every item that it can; it returns the items that it leaves, which hold an encrypted
 * password.
 */
import type { Pool } from '../../../db/pool.ts';
import type { Special } from '../../job.ts';
import type { BatchStore } from '../batch-writer.ts';
import { batchStore, storeOf } from '../process.ts';
import { writeBatch } from '../write-batch.ts';
import { dryBatch } from './dry-batch.ts';
import { updateBatch } from './update-batch.ts';

/** How often users may be created or deleted between the two halves of an update before the whole batch is retried. */
const MAX_ROUNDS = 5;

export function specialStores(pool: Pool, settings: { codeTtlMs: number }): Record<Special, BatchStore> {
  return {
    skip: batchStore(pool, settings, 'skip'),
    update: storeOf(pool, (importId, ordinals) => createOrUpdate(pool, importId, ordinals, settings)),
    dry: storeOf(pool, (importId, ordinals) => dryBatch(pool, importId, ordinals)),
  };
}

/** Writes new users by the statement of write-batch.ts, and then updates the existing ones. */
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
  throw new Error('Users of the batch were repeatedly created and deleted during the update.');
}

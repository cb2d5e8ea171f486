/**
 * One job, from pointer to outcome: write with the batch; if the item holds a plain password, hash it in a thread and
 * write then.
 *
 * Guarantee: when this resolves the item is settled or the import does not run. If we die here the job comes again.
 */

import type { Pool } from '../db/pool.ts';
import { faultKind, sqlState } from '../db/sqlstates.ts';
import { errorBody } from '../errors.ts';
import type { Hasher } from '../passwords/hasher.ts';
import type { Secrets } from '../secrets.ts';
import { BatchFault, type BatchStore, type BatchWriter } from './batch-writer.ts';
import { PASSWORD_SEAL } from './validate.ts';
import { NOT_RUNNING, writeBatch } from './write-batch.ts';

/** All that a job of the queue `imports` holds: which item of which import. */
export interface ItemPointer {
  i: string;
  o: number;
}

/** @throws what the writer could not get written before it was stopped */
export async function processItem(
  deps: { writerPool: Pool; secrets: Secrets; hasher: Hasher; writer: BatchWriter },
  { i: importId, o: ordinal }: ItemPointer,
): Promise<void> {
  const outcome = await deps.writer.add(importId, ordinal);
  if (outcome === 'done') return;
  await hashPassword(deps, importId, ordinal);
  await deps.writer.add(importId, ordinal);
}

/** Replaces the sealed password of a pending item by its hash, and erases the sealed form with it. */
async function hashPassword(
  deps: { writerPool: Pool; secrets: Secrets; hasher: Hasher },
  importId: string,
  ordinal: number,
): Promise<void> {
  const { rows } = await deps.writerPool.query<{ password_sealed: string | null }>(
    `select password_sealed from import_items where import_id = $1 and ordinal = $2 and state = 'pending'`,
    [importId, ordinal],
  );
  const sealed = rows[0]?.password_sealed;
  if (!sealed) return;
  const hash = await deps.hasher.hash(deps.secrets.unseal(sealed, PASSWORD_SEAL));
  await deps.writerPool.query(
    `update import_items set password_hash = $3, password_sealed = null
     where import_id = $1 and ordinal = $2 and state = 'pending' and password_sealed = $4`,
    [importId, ordinal, hash, sealed],
  );
}

/** The batch writer's store on PostgreSQL. */
export function batchStore(pool: Pool, settings: { codeTtlMs: number }): BatchStore {
  return {
    async write(importId, ordinals) {
      try {
        const settled = await writeBatch(pool, importId, ordinals, settings);
        return settled === ordinals.length ? [] : await sealedOf(pool, importId, ordinals);
      } catch (error) {
        if (sqlState(error) === NOT_RUNNING) throw new BatchFault('not-running', error);
        throw new BatchFault(faultKind(error) === 'data' ? 'data' : 'retry', error);
      }
    },
    poison: (importId, ordinal) => failItem(pool, importId, ordinal),
  };
}

async function sealedOf(pool: Pool, importId: string, ordinals: number[]): Promise<number[]> {
  const { rows } = await pool.query<{ ordinal: number }>(
    `select ordinal from import_items
     where import_id = $1 and ordinal = any($2::int[]) and state = 'pending' and password_sealed is not null`,
    [importId, ordinals],
  );
  return rows.map((r) => r.ordinal);
}

const REFUSED = JSON.stringify(errorBody('INTERNAL', 'IMPORT-USER-REFUSED', 'The database refused this user.'));

/** Settles one item as failed, with the same guard as a batch. */
async function failItem(pool: Pool, importId: string, ordinal: number): Promise<void> {
  await pool.query(
    `with failed as (
       update import_items set state = 'failed', error = $3
       where import_id = $1 and ordinal = $2 and state = 'pending' returning org_index
     )
     select settle_batch($1, 0, 1, 0, 0, array[org_index], '{0}', '{1}') from failed`,
    [importId, ordinal, REFUSED],
  );
}

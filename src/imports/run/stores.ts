/**
 * The batch writer's stores in PostgreSQL: for default imports, for imports that skip or update existing users, and for
 * dry runs.
 *
 * Guarantee: a write settles every item that it can; it returns the items that it leaves, which hold an encrypted
 * password.
 */
import { faultKind, sqlState } from '../../platform/db/faults.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { ImportItems } from '../../platform/db/tables.ts';
import { type ErrorBody, errorBody } from '../../platform/errors.ts';
import { itemsOfBatch, type Special } from '../entries/item.ts';
import { publishBatch } from '../entries/outcome.ts';
import { BatchFault, type BatchStore } from './batch-writer.ts';
import { dryBatch } from './dry-run.ts';
import { settleItems, updateBatch } from './update-users.ts';
import { type BatchRule, NOT_RUNNING, optimistically, UNIQUE_VIOLATION, writeBatch } from './write-batch.ts';

/** Classes of SQLSTATE that refuse the connection itself, as during a failover. They say nothing about the users. */
const CONNECTION_REFUSED = /^(?:28|3D)/;

/** How often users may be created or deleted between the two halves of an update before the whole batch is retried. */
const MAX_ROUNDS = 5;

const REFUSED = errorBody(
  'INTERNAL',
  'IMPORT-USER-REFUSED',
  'The database refused this user. The log of the workers contains the reason.',
);

export const BROKEN = errorBody(
  'INTERNAL',
  'IMPORT-USER-FAULT',
  'An internal error prevented this user from being written. The log of the workers contains the error. Retry the import after the error is fixed.',
);

/** The store for default imports, and for imports that skip existing users. */
export function batchStore(pool: Pool, settings: { codeTtlMs: number }, rule: 'fail' | 'skip' = 'fail'): BatchStore {
  const write = (importId: string, ordinals: number[], by: BatchRule) =>
    writeBatch(pool, importId, ordinals, settings, by);
  const writeOptimistically = rule === 'fail' ? optimistically(write) : undefined;
  return storeOf(pool, async (importId, ordinals) => {
    const settled = await (writeOptimistically?.(importId, ordinals) ?? write(importId, ordinals, rule));
    return settled === ordinals.length ? [] : sealedOf(pool, importId, ordinals);
  });
}

/** The stores for all other imports. */
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

async function sealedOf(pool: Pool, importId: string, ordinals: number[]): Promise<number[]> {
  const { rows } = await pool.query<Pick<ImportItems, 'ordinal'>>(
    `select i.ordinal from ${itemsOfBatch('$2')} where i.state = 'pending' and i.password_sealed is not null`,
    [importId, ordinals],
  );
  return rows.map((r) => r.ordinal);
}

/** Classifies the errors of a write, so that the batch writer knows what to do next. */
export function storeOf(pool: Pool, write: BatchStore['write']): BatchStore {
  return {
    async write(importId, ordinals) {
      for (let round = 1; ; round++) {
        try {
          return await write(importId, ordinals);
        } catch (error) {
          if (sqlState(error) === NOT_RUNNING) throw new BatchFault('not-running', error);
          if (round === MAX_ROUNDS || !isPasskeyTaken(error)) throw faultOf(error);
        }
      }
    },
    poison: (importId, ordinal, { kind }) => failItem(pool, importId, ordinal, kind === 'data' ? REFUSED : BROKEN),
  };
}

/**
 * Another transaction has added a passkey of the batch since it looked: then it looks again, and fails its user. Two
 * users of one batch with one passkey are told apart when the batch is halved.
 */
function isPasskeyTaken(error: unknown): boolean {
  return sqlState(error) === UNIQUE_VIOLATION && (error as { constraint?: string }).constraint === 'user_passkeys_pkey';
}

export function faultOf(error: unknown): BatchFault {
  return new BatchFault(CONNECTION_REFUSED.test(sqlState(error) ?? '') ? 'retry' : faultKind(error), error);
}

/** Settles one item as failed, under the same guard as a batch: only while the import runs. */
export async function failItem(pool: Pool, importId: string, ordinal: number, error: ErrorBody): Promise<void> {
  const batch = await settleItems(pool, importId, [{ ordinal, state: 'failed', error }], { mails: 0, erase: false });
  if (batch) publishBatch(batch);
}

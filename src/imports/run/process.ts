/**
 * Processes one job: writes its item as part of a batch. If the item has a plain password, hashes it in a thread first
 * and then writes the item.
 *
 * Guarantee: when this resolves, the item is settled or the import does not run. A password that cannot be hashed fails
 * its item after a few attempts. A password that was hashed while a job waited for its turn is not hashed again. On crash:
 * the job is processed again.
 */

import type { Pool } from '../../db/pool.ts';
import { faultKind, sqlState } from '../../db/sqlstates.ts';
import { errorBody } from '../../errors.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import { HandBack } from '../../queue/hand-back.ts';
import { MissingKey, type Secrets } from '../../secrets.ts';
import { inImport } from '../../spans.ts';
import { itemsOfBatch } from '../batch-items.ts';
import { JOIN_RAN, publishBatch, type SettledBatch } from '../ended.ts';
import { failuresCounted } from '../failures.ts';
import type { ItemPointer, Special } from '../job.ts';
import { BatchFault, type BatchStore, type BatchWriter } from './batch-writer.ts';
import type { BatchRule } from './conflict-rules.ts';
import type { FairSlots } from './fair-slots.ts';
import { hashItem } from './hash-item.ts';
import { optimistically } from './optimistic-write.ts';
import { hashUnlessSame } from './same-password.ts';
import { NOT_RUNNING, writeBatch } from './write-batch.ts';

export interface ProcessDeps {
  writerPool: Pool;
  secrets: Secrets;
  hasher: Hasher;
  slots: FairSlots;
  writer: BatchWriter;
  special?: Record<Special, BatchWriter>;
  /** Called with the reason when a password could not be hashed. */
  onFault?: (fault: BatchFault) => void;
}

/** How often hashing a password is attempted when it fails for a reason other than the connection. */
const HASH_TRIES = 3;

/**
 * @throws HandBack when the worker stops before the password was hashed
 * @throws Error when the writer was stopped before the item was written, or the connection was lost during hashing, or
 *   the key of the password is missing: the rescuer dispatches the item again
 */
export async function processItem(
  deps: ProcessDeps,
  { i: importId, o: ordinal, m: mode, only }: ItemPointer,
): Promise<void> {
  const writer = writerFor(deps, mode);
  const outcome = await writer.add(importId, ordinal, only);
  if (outcome === 'done') return;
  const { writerPool: pool, secrets, hasher, slots, onFault } = deps;
  const makeHash = (plain: string) =>
    mode === 'update' || mode === 'dry'
      ? hashUnlessSame({ pool, hasher }, importId, ordinal, plain)
      : hasher.hash(plain);
  // Read when its turn has come: it may have been hashed, settled or encrypted again while it waited.
  const hash = () => hashItem({ pool, secrets, hash: makeHash }, importId, ordinal);
  for (let left = HASH_TRIES; ; left--) {
    const turn = inImport(importId, 'import.hash', {}, () => slots.run(importId, hash));
    const fault = await turn.then(() => undefined, faultOfHashing);
    if (!fault) break;
    onFault?.(fault);
    if (fault.kind === 'retry') throw fault.cause;
    if (left === 1) return failItem(pool, importId, ordinal, BROKEN);
  }
  await writer.add(importId, ordinal, only);
}

/** Classes of SQLSTATE that refuse the connection itself, as during a failover. They say nothing about the users. */
const CONNECTION_REFUSED = /^(?:28|3D)/;

function faultOf(error: unknown): BatchFault {
  return new BatchFault(CONNECTION_REFUSED.test(sqlState(error) ?? '') ? 'retry' : faultKind(error), error);
}

/** A process without the key must not fail users whom others can write. */
function faultOfHashing(error: unknown): BatchFault {
  if (error instanceof HandBack) throw error;
  if (error instanceof MissingKey) return new BatchFault('retry', error);
  return faultOf(error);
}

/** The writer of this mode. Never falls back to another writer: a dry run must not write for real. */
function writerFor({ writer, special }: ProcessDeps, mode: Special | undefined): BatchWriter {
  const found = mode === undefined ? writer : special?.[mode];
  if (!found) throw new Error(`no writer for ${mode}`);
  return found;
}

/** The batch writer's store in PostgreSQL, for default imports and for imports that skip existing users. */
export function batchStore(pool: Pool, settings: { codeTtlMs: number }, rule: 'fail' | 'skip' = 'fail'): BatchStore {
  const write = (importId: string, ordinals: number[], by: BatchRule) =>
    writeBatch(pool, importId, ordinals, settings, by);
  const writeOptimistically = rule === 'fail' ? optimistically(write) : undefined;
  return storeOf(pool, async (importId, ordinals) => {
    const settled = await (writeOptimistically?.(importId, ordinals) ?? write(importId, ordinals, rule));
    return settled === ordinals.length ? [] : sealedOf(pool, importId, ordinals);
  });
}

/** Classifies the errors of a write, so that the batch writer knows what to do next. */
export function storeOf(pool: Pool, write: BatchStore['write']): BatchStore {
  return {
    async write(importId, ordinals) {
      try {
        return await write(importId, ordinals);
      } catch (error) {
        if (sqlState(error) === NOT_RUNNING) throw new BatchFault('not-running', error);
        throw faultOf(error);
      }
    },
    poison: (importId, ordinal, { kind }) => failItem(pool, importId, ordinal, kind === 'data' ? REFUSED : BROKEN),
  };
}

async function sealedOf(pool: Pool, importId: string, ordinals: number[]): Promise<number[]> {
  const { rows } = await pool.query<{ ordinal: number }>(
    `select i.ordinal from ${itemsOfBatch('$2')} where i.state = 'pending' and i.password_sealed is not null`,
    [importId, ordinals],
  );
  return rows.map((r) => r.ordinal);
}

const REFUSED = JSON.stringify(
  errorBody(
    'INTERNAL',
    'IMPORT-USER-REFUSED',
    'The database refused this user. The log of the workers contains the reason.',
  ),
);
const BROKEN = JSON.stringify(
  errorBody(
    'INTERNAL',
    'IMPORT-USER-FAULT',
    'An internal error prevented this user from being written. The log of the workers contains the error. Retry the import after the error is fixed.',
  ),
);

/** Settles one item as failed, under the same guard as a batch: only while the import runs. */
async function failItem(pool: Pool, importId: string, ordinal: number, error: string): Promise<void> {
  const { rows } = await pool.query<Omit<SettledBatch, 'succeeded' | 'skipped' | 'failed'>>(
    `with failed as (
       update import_items set state = 'failed', error = $3
       where import_id = $1 and ordinal = $2 and state = 'pending' returning org_index, ordinal, state, error
     ),
     ${failuresCounted('failed')}
     select settle_batch($1, 0, 1, 0, 0, array[org_index], '{0}', '{1}') as state, ran.*
     from failed ${JOIN_RAN}`,
    [importId, ordinal, error],
  );
  if (rows[0]) publishBatch({ ...rows[0], succeeded: 0, skipped: 0, failed: 1 });
}

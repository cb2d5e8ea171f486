/**
 * Sends the statement that writes a batch of users, write-batch.sql, by the rule of their import.
 *
 * Guarantee: all or nothing, and nothing once the import is not running: as its last step the statement calls
 * settle_batch, which then raises MU001, and otherwise keeps the import's row locked until the commit. An item that is
 * not pending is not touched, so a late, repeated or frozen worker changes nothing. As it is one statement, this
 * process can do nothing between the check and the commit.
 */
import { sqlState } from '../../platform/db/faults.ts';
import type { Pool } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { readVariants } from '../../platform/db/statement.ts';
import { errorBody } from '../../platform/errors.ts';
import type { ExistingRule } from '../entries/options.ts';
import { publishBatch, type SettledBatch } from '../entries/outcome.ts';

/** SQLSTATE of settle_batch when the import is past its deadline, paused, cancelled or done. */
export const NOT_RUNNING = 'MU001';

/**
 * Session settings of the batch writers' pool. A generic plan does not know the size of a batch and would join by
 * nested loops, quadratic in the batch size: hash joins suit a batch of any size.
 */
export const WRITER_SESSION = { enable_nestloop: 'off', plan_cache_mode: 'force_generic_plan' };

/** Batches after a conflict that are written with conflict handling. */
const CAREFUL_BATCHES = 50;
export const UNIQUE_VIOLATION = '23505';

export interface BatchSettings {
  /** How long the codes of the mails are valid, in milliseconds. */
  codeTtlMs: number;
}

/** How a batch is written: by the rule of its import, or optimistically. */
export type BatchRule = ExistingRule | 'optimistic';

/** The statement of each rule. */
const WRITE = readVariants(new URL('write-batch.sql', import.meta.url), {
  parameters: ['importId', 'ordinals', 'editor', 'payload', 'codeTtlMs', 'idTaken', 'nameTaken', 'passkeyTaken'],
  names: {
    optimistic: 'write-batch-optimistic',
    fail: 'write-batch',
    skip: 'write-batch-skip',
    update: 'write-batch-update',
  } satisfies Record<BatchRule, string>,
});

/**
 * Writes the items of one import that are pending and need no hashing.
 * @param ordinals in ascending order, without duplicates
 * @param rule what happens to existing users: `optimistic` assumes that there are none, `update` leaves their items
 * pending for update-users.ts
 * @returns how many were settled: the others were not pending, still hold an encrypted password, or were left to
 * `update`
 * @throws pg.DatabaseError with code MU001 when the import is not running, or 23505 when a user of an optimistic batch
 *   exists; nothing is written then
 */
export async function writeBatch(
  pool: Pool,
  importId: string,
  ordinals: number[],
  settings: BatchSettings,
  rule: BatchRule = 'fail',
): Promise<number> {
  const { rows } = await pool.query<SettledBatch>(
    WRITE[rule].bind({
      importId,
      ordinals,
      editor: 'system',
      payload: JSON.stringify({ importId }),
      codeTtlMs: settings.codeTtlMs,
      idTaken: ID_TAKEN,
      nameTaken: NAME_TAKEN,
      passkeyTaken: PASSKEY_TAKEN,
    }),
  );
  const batch = oneRow(rows);
  const settled = batch.succeeded + batch.skipped + batch.failed;
  if (settled > 0) publishBatch(batch);
  return settled;
}

type Write = (importId: string, ordinals: number[], rule: BatchRule) => Promise<number>;

/**
 * Writes batches without conflict handling. On a unique violation, writes the batch again with conflict handling, and
 * keeps doing so for the import's next 50 batches, as an import that conflicts once usually conflicts again.
 */
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

export const ERRORS = {
  idTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-ID-TAKEN',
    'A user with this userId already exists, or existed in another organization.',
  ),
  nameTaken: errorBody(
    'ALREADY_EXISTS',
    'USER-NAME-TAKEN',
    'A user with this user name already exists in the organization.',
  ),
  passkeyTaken: errorBody(
    'ALREADY_EXISTS',
    'PASSKEY-TAKEN',
    'Another user has a passkey with a credential id of this user. Remove it there, or leave it out here.',
  ),
  passkeyTwice: errorBody(
    'ALREADY_EXISTS',
    'PASSKEY-TAKEN',
    'A passkey with a credential id of this user appears earlier in this import.',
  ),
  twice: errorBody('ALREADY_EXISTS', 'USER-ID-TAKEN', 'This user appears earlier in this import.'),
  outranksCaller: errorBody('PERMISSION_DENIED', 'AUTH-PERMISSION', 'The caller is not allowed to modify this user.'),
  stopsOwner: errorBody('FAILED_PRECONDITION', 'IMPORT-IAM-OWNER', 'An import cannot lock or deactivate an IAM_OWNER.'),
} as const;

const ID_TAKEN = JSON.stringify(ERRORS.idTaken);
const NAME_TAKEN = JSON.stringify(ERRORS.nameTaken);
const PASSKEY_TAKEN = JSON.stringify(ERRORS.passkeyTaken);

const HEADER = '-- Generated by `npm run schema` from src/imports/run/write-batch.sql; not to be edited.\n';

/**
 * The statements as they are sent, so that a review shows the effect of a change: `npm run schema` writes them to
 * `src/imports/run/batch-statements.sql`, and a test compares the two.
 */
export function describeStatements(): string {
  return [HEADER, ...Object.values(WRITE).map(({ name, text }) => `-- ${name}\n${text};\n`)].join('\n');
}

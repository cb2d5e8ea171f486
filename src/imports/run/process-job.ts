/**
 * Processes one job: writes its item as part of a batch. An item with a plain password is handed over to the queue
 * `hashes`, so that it takes no place from the jobs of others; a job of that queue hashes the password in a thread and
 * then writes the item.
 *
 * Guarantee: when a job of the queue `imports` ends, its item is settled, the import does not run, or the item has a job
 * in the queue `hashes`; when that ends, the item is settled or the import does not run. A password that cannot be hashed
 * fails its item after a few attempts. A password that was hashed while a job waited for its turn is not hashed again.
 * On crash: the encrypted password is still in the item, and the job is processed again.
 */
import { perhapsKnown } from '../../passwords/forms.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Pool } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { ImportItems, Users } from '../../platform/db/tables.ts';
import { MissingKey, type Secrets } from '../../platform/encryption.ts';
import { inImport } from '../../platform/telemetry.ts';
import { FACT } from '../entries/facts.ts';
import { type ItemPointer, PASSWORD_PURPOSE, type Special } from '../entries/item.ts';
import { OMITS_ID } from '../entries/notes.ts';
import type { JobToAdd } from '../queue/queues.ts';
import { HandBack, type JobPointer } from '../queue/worker.ts';
import { BatchFault, type BatchWriter } from './batch-writer.ts';
import { HEAD_START } from './dispatch.ts';
import type { HashLane } from './hash-lane.ts';
import { BROKEN, failItem, faultOf } from './stores.ts';

export interface ProcessDeps {
  writer: BatchWriter;
  special?: Record<Special, BatchWriter>;
  /** Adds a job to the queue `hashes`. */
  handOver(job: JobToAdd<ItemPointer>): Promise<void>;
}

export interface HashJobDeps {
  writerPool: Pool;
  secrets: Secrets;
  hasher: Hasher;
  lane: HashLane;
  writer: BatchWriter;
  special?: Record<Special, BatchWriter>;
  /** Called with the reason when a password could not be hashed. */
  onFault?: (fault: BatchFault) => void;
}

/** How often hashing a password is attempted when it fails for a reason other than the connection. */
const HASH_TRIES = 3;

/**
 * Processes a job of the queue `imports`.
 * @throws Error when the writer was stopped before the item was written, or the queue did not take the job that hashes:
 *   the rescuer dispatches the item again
 */
export async function processItem(deps: ProcessDeps, { id, data }: JobPointer<ItemPointer>): Promise<void> {
  const { i: importId, o: ordinal, m: mode, only } = data;
  const outcome = await writerFor(deps, mode).add(importId, ordinal, only);
  if (outcome === 'done') return;
  // The job has the id of the one that it follows: a job that is repeated adds no second one.
  await deps.handOver({ id: id ?? `i${importId}-${ordinal}`, data, urgent: ordinal < HEAD_START });
}

/**
 * Processes a job of the queue `hashes`.
 * @throws HandBack when the worker stops before the password was hashed
 * @throws Error when the writer was stopped before the item was written, or the connection was lost during hashing, or
 *   the key of the password is missing: the rescuer dispatches the item again
 */
export async function hashAndWrite(
  deps: HashJobDeps,
  { i: importId, o: ordinal, m: mode, only }: ItemPointer,
): Promise<void> {
  const { writerPool: pool, secrets, hasher, lane, onFault } = deps;
  const writer = writerFor(deps, mode);
  const makeHash: HashDeps['hash'] = async (plain, mark) => {
    const isUpdate = mode === 'update' || mode === 'dry';
    const same = isUpdate ? await sameHash({ pool, hasher }, importId, ordinal, plain) : undefined;
    return same ?? mark(await hasher.hash(plain));
  };
  // Read when its turn has come: it may have been hashed, settled or encrypted again while it waited.
  const hash = async () => void (await hashItem({ pool, secrets, hash: makeHash }, importId, ordinal));
  for (let left = HASH_TRIES; ; left--) {
    try {
      if (!(await inImport(importId, 'import.hash', {}, () => lane.run(importId, hash)))) return;
      break;
    } catch (error) {
      const fault = faultOfHashing(error);
      onFault?.(fault);
      if (fault.kind === 'retry') throw fault.cause;
      if (left === 1) return failItem(pool, importId, ordinal, BROKEN);
    }
  }
  await writer.add(importId, ordinal, only);
}

/** A process without the key must not fail users whom others can write. */
function faultOfHashing(error: unknown): BatchFault {
  if (error instanceof HandBack) throw error;
  if (error instanceof MissingKey) return new BatchFault('retry', error);
  return faultOf(error);
}

/** The writer of this mode. Never falls back to another writer: a dry run must not write for real. */
function writerFor(
  { writer, special }: Pick<ProcessDeps, 'writer' | 'special'>,
  mode: Special | undefined,
): BatchWriter {
  const found = mode === undefined ? writer : special?.[mode];
  if (!found) throw new Error(`no writer for ${mode}`);
  return found;
}

export interface HashDeps {
  pool: Pool;
  secrets: Secrets;
  /** @param mark makes of a new hash what is stored: a password that its user may not know is marked as such */
  hash(plain: string, mark: (hash: string) => string): Promise<string>;
}

/**
 * The item's hash, made from its password if necessary, which it then replaces; null when the item has neither. A value
 * that was encrypted again meanwhile, with another key, is read again.
 */
export async function hashItem(deps: HashDeps, importId: string, ordinal: number): Promise<string | null> {
  const { rows } = await deps.pool.query<Pick<ImportItems, 'password_sealed' | 'password_hash' | 'sign_in'>>(
    'select password_sealed, password_hash, sign_in from import_items where import_id = $1 and ordinal = $2',
    [importId, ordinal],
  );
  const sealed = rows[0]?.password_sealed;
  if (!sealed) return rows[0]?.password_hash ?? null;
  const isPerhaps = ((rows[0]?.sign_in ?? 0) & FACT.perhaps) !== 0;
  const mark = (made: string) => (isPerhaps ? perhapsKnown(made) : made);
  const hash = await deps.hash(deps.secrets.unseal(sealed, PASSWORD_PURPOSE), mark);
  const { rowCount } = await deps.pool.query(
    `update import_items set password_hash = $3, password_sealed = null
     where import_id = $1 and ordinal = $2 and password_sealed = $4`,
    [importId, ordinal, hash, sealed],
  );
  return rowCount === 0 ? hashItem(deps, importId, ordinal) : hash;
}

/**
 * The current hash of an existing user, if the plain password that an import sends for them is their current one, so
 * that the update changes nothing.
 */
async function sameHash(
  { pool, hasher }: { pool: Pool; hasher: Hasher },
  importId: string,
  ordinal: number,
  plain: string,
): Promise<string | undefined> {
  const current = await currentHash(pool, importId, ordinal);
  return current && (await hasher.verify(current, plain)).ok ? current : undefined;
}

/** The hash of the user that `targetId` of existing-users.ts finds. */
async function currentHash(pool: Pool, importId: string, ordinal: number): Promise<string | null> {
  const { rows } = await pool.query<Named<Users, { hash: 'password_hash' }>>(
    `select coalesce(
       (select u.password_hash from users u where u.id = i.user_id and u.org_id = o.org_id),
       (select u.password_hash from users u
        where u.user_name_key = i.user_name_key and u.org_id = o.org_id and ${OMITS_ID})) as hash
     from import_items i join import_orgs o on o.import_id = i.import_id and o.org_index = i.org_index
     where i.import_id = $1 and i.ordinal = $2`,
    [importId, ordinal],
  );
  return rows[0]?.hash ?? null;
}

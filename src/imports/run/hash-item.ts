/**
 * Replaces the encrypted plain password of an item by its hash.
 * A value that was encrypted again meanwhile, with another key, is read again.
 * On crash: the encrypted password is still there, and the next process that needs the hash makes it.
 */
import type { Pool } from '../../db/pool.ts';
import type { Secrets } from '../../secrets.ts';
import { PASSWORD_SEAL } from '../seals.ts';

export interface HashDeps {
  pool: Pool;
  secrets: Secrets;
  hash(plain: string): Promise<string>;
}

/** The item's hash, made from its password if necessary; null when the item has neither. */
export async function hashItem(deps: HashDeps, importId: string, ordinal: number): Promise<string | null> {
  const { rows } = await deps.pool.query<{ password_sealed: string | null; password_hash: string | null }>(
    'select password_sealed, password_hash from import_items where import_id = $1 and ordinal = $2',
    [importId, ordinal],
  );
  const sealed = rows[0]?.password_sealed;
  if (!sealed) return rows[0]?.password_hash ?? null;
  const hash = await deps.hash(deps.secrets.unseal(sealed, PASSWORD_SEAL));
  const { rowCount } = await deps.pool.query(
    `update import_items set password_hash = $3, password_sealed = null
     where import_id = $1 and ordinal = $2 and password_sealed = $4`,
    [importId, ordinal, hash, sealed],
  );
  return rowCount === 0 ? hashItem(deps, importId, ordinal) : hash;
}

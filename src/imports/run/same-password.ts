/**
 * Hashes the plain password that an import sends for an existing user. It is often the user's current password; the
 * result is then their current hash, so that the update changes nothing. Keeps no state. On crash: the encrypted
 * password is still in the item.
 */
import type { Pool } from '../../db/pool.ts';
import type { Hasher } from '../../passwords/hasher.ts';

/** The user's current hash if it is a hash of this password, else a new hash. */
export async function hashUnlessSame(
  { pool, hasher }: { pool: Pool; hasher: Hasher },
  importId: string,
  ordinal: number,
  plain: string,
): Promise<string> {
  const current = await currentHash(pool, importId, ordinal);
  if (current && (await hasher.verify(current, plain)).ok) return current;
  return hasher.hash(plain);
}

/** The hash of the user that `targetId` of existing/candidates.ts finds. */
async function currentHash(pool: Pool, importId: string, ordinal: number): Promise<string | null> {
  const { rows } = await pool.query<{ hash: string | null }>(
    `select coalesce(
       (select u.password_hash from users u where u.id = i.user_id and u.org_id = o.org_id),
       (select u.password_hash from users u
        where u.user_name_key = i.user_name_key and u.org_id = o.org_id and i.extras -> 'unsaid' ? 'userId')) as hash
     from import_items i join import_orgs o on o.import_id = i.import_id and o.org_index = i.org_index
     where i.import_id = $1 and i.ordinal = $2`,
    [importId, ordinal],
  );
  return rows[0]?.hash ?? null;
}

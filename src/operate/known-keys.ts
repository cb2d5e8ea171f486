/**
 * Checks at the start of a process that it has every encryption key that the database needs, and registers its own.
 *
 * Guarantee: a process with a wrong or missing key ends with one sentence, before it serves or works.
 * On crash: a registered key without values does no harm; `muster keys rotate` removes it.
 */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Db } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { StartError } from '../platform/errors.ts';

/** @throws StartError when values need a key that is neither ENCRYPTION_KEY nor one of DECRYPTION_KEYS */
export async function registerKeys(db: Db, secrets: Pick<Secrets, 'keyIds'>): Promise<void> {
  await requireKeys(db, secrets);
  await db.query('insert into encryption_keys (id) values ($1) on conflict (id) do nothing', [secrets.keyIds[0]]);
}

/** @throws StartError as above: a process that runs since an earlier step of a replacement lacks the new key */
export async function requireKeys(db: Db, secrets: Pick<Secrets, 'keyIds'>): Promise<void> {
  const ids = await missingKeyIds(db, secrets);
  if (ids.length === 0) return;
  throw new StartError(
    `The database needs the encryption key with the id ${ids.join(', ')}: set it as ENCRYPTION_KEY, or add it to DECRYPTION_KEYS.`,
  );
}

/** The ids of keys that values in the database may need and that are not known here, oldest first. */
export async function missingKeyIds(db: Db, { keyIds }: Pick<Secrets, 'keyIds'>): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from encryption_keys where id <> all($1::text[]) order by registered_at',
    [keyIds],
  );
  return rows.map(({ id }) => id);
}

/** The key that `npm start` keeps next to the embedded database; undefined if there is none, or it cannot be read. */
export async function keptKey(dataDir: string): Promise<string | undefined> {
  return (await readFile(join(resolve(dataDir), 'encryption.key'), 'utf8').catch(() => '')).trim() || undefined;
}

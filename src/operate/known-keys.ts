/**
 * Checks at the start of a process that it has every encryption key that the database needs, and registers its own. And
 * opens the database with the keys for commands that run beside the service.
 *
 * Guarantee: a process with a wrong or missing key ends with one sentence, before it serves or works.
 * On crash: a registered key without values does no harm; `muster keys rotate` removes it.
 */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../platform/config.ts';
import { type EmbeddedPostgres, embeddedState, startEmbeddedPostgres } from '../platform/db/embedded/embedded.ts';
import { migrationState } from '../platform/db/migrate.ts';
import { type Db, openPool, type Pool } from '../platform/db/pool.ts';
import type { EncryptionKeys } from '../platform/db/tables.ts';
import { openSecrets, type Secrets } from '../platform/encryption.ts';
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
    `The database needs the encryption key with the id ${ids.join(', ')}: set it as ENCRYPTION_KEY, or add it to DECRYPTION_KEYS. If it is lost for good, \`muster keys lost\` lists what that costs, and gives it up.`,
  );
}

/** The ids of keys that values in the database may need and that are not known here, oldest first. */
export async function missingKeyIds(db: Db, { keyIds }: Pick<Secrets, 'keyIds'>): Promise<string[]> {
  const { rows } = await db.query<Pick<EncryptionKeys, 'id'>>(
    'select id from encryption_keys where id <> all($1::text[]) order by registered_at',
    [keyIds],
  );
  return rows.map(({ id }) => id);
}

/** The key that `npm start` keeps next to the embedded database; undefined if there is none, or it cannot be read. */
export async function keptKey(dataDir: string): Promise<string | undefined> {
  return (await readFile(join(resolve(dataDir), 'encryption.key'), 'utf8').catch(() => '')).trim() || undefined;
}

export interface Keyring {
  pool: Pool;
  secrets: Secrets;
}

/**
 * The database and the keys of this machine's service.
 * @param name what the connection is called in the database
 * @param embedded the URL of an embedded database that was started for this
 * @throws StartError when the settings name no database or no key
 */
export async function openKeyring(config: Config, name: string, embedded?: string): Promise<Keyring> {
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? embedded ?? (await embeddedUrl(config.DATA_DIR));
  const key = config.ENCRYPTION_KEY ?? (config.DATABASE_URL ? undefined : await keptKey(config.DATA_DIR));
  if (!url || !key) {
    throw new StartError(
      'Set DATABASE_URL, ENCRYPTION_KEY and DECRYPTION_KEYS as the service has them; with the embedded database, start the service (for `keys lost`, stop it and set ENCRYPTION_KEY).',
    );
  }
  return { pool: openPool(url, { max: 1, name }), secrets: openSecrets(key, config.DECRYPTION_KEYS) };
}

/** Starts the database of the data folder, if the service uses it and does not run. The caller stops it. */
export async function startEmbedded(config: Config): Promise<EmbeddedPostgres | undefined> {
  if (config.DATABASE_URL || (await embeddedState(config.DATA_DIR)).state !== 'stopped') return undefined;
  return startEmbeddedPostgres({ dataDir: config.DATA_DIR });
}

async function embeddedUrl(dataDir: string): Promise<string | undefined> {
  const embedded = await embeddedState(dataDir);
  return embedded.state === 'running' ? embedded.url : undefined;
}

/**
 * Call it before a command beside the service writes: it is of the service's version, and has its keys.
 * @throws StartError when the schema is another, or a key is missing
 */
export async function requireCurrent(pool: Pool, secrets: Secrets): Promise<void> {
  const { applied, known } = await migrationState(pool);
  if (applied !== known) {
    throw new StartError(
      `The database has schema ${applied}; this program needs ${known}. Use the version that the service has.`,
    );
  }
  await requireKeys(pool, secrets);
}

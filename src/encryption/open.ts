/** The database and the keys of this machine's service, from its settings: for `muster keys`, which runs beside it. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import { embeddedState } from '../db/embedded/running.ts';
import { openPool, type Pool } from '../db/pool.ts';
import { openSecrets, type Secrets } from '../secrets.ts';
import { StartError } from '../start-error.ts';

/** @throws StartError when the settings name no database or no key */
export async function openKeyring(config: Config): Promise<{ pool: Pool; secrets: Secrets }> {
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? (await embeddedUrl(config.DATA_DIR));
  const key = config.ENCRYPTION_KEY ?? (config.DATABASE_URL ? undefined : await keptKey(config.DATA_DIR));
  if (!url || !key) {
    throw new StartError(
      'Set DATABASE_URL, ENCRYPTION_KEY and DECRYPTION_KEYS as the service has them; with the embedded database, start the service.',
    );
  }
  return { pool: openPool(url, { max: 1, name: 'muster keys' }), secrets: openSecrets(key, config.DECRYPTION_KEYS) };
}

async function embeddedUrl(dataDir: string): Promise<string | undefined> {
  const embedded = await embeddedState(dataDir);
  return embedded.state === 'running' ? embedded.url : undefined;
}

async function keptKey(dataDir: string): Promise<string | undefined> {
  return (await readFile(join(resolve(dataDir), 'encryption.key'), 'utf8').catch(() => '')).trim() || undefined;
}

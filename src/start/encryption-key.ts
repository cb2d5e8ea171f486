/**
 * The instance's key where none is configured: made once, kept in the data folder beside the embedded database.
 *
 * Guarantee: the file is complete or absent, whenever we die. A key that is gone is never replaced in silence, as what
 * was sealed with it would be lost. The caller holds the folder's lock.
 */
import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from '../db/pool.ts';
import { StartError } from '../start-error.ts';

/**
 * @returns 32 bytes, base64
 * @throws StartError when the file is damaged, or missing although the database is in use
 */
export async function keptEncryptionKey(dataDir: string, pool: Pool): Promise<string> {
  const path = join(dataDir, 'encryption.key');
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new StartError(`The key in ${path} cannot be read (${error.code}).`);
  });
  if (kept === undefined) return makeKey(path, pool);
  if (Buffer.from(kept, 'base64').length !== 32) throw new StartError(`The key in ${path} is damaged: put it back.`);
  return kept.trim();
}

async function makeKey(path: string, pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ used: boolean }>(`select to_regclass('migrations') is not null as used`);
  if (rows[0]?.used) {
    throw new StartError(
      `The key ${path} is gone, and this database was sealed with it: put it back, or set ENCRYPTION_KEY.`,
    );
  }
  const key = randomBytes(32).toString('base64');
  await writeFile(`${path}.new`, `${key}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  return key;
}

/**
 * The instance's key if none is configured: generated once, and kept in the data folder next to the embedded database.
 *
 * Guarantee: a missing key is never replaced silently, as everything encrypted with it would be lost. The caller holds
 * the folder's lock. On crash: the file is complete or absent.
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
    throw new StartError(
      `The encryption key in ${path} cannot be read (${error.code}): check the permissions of the file.`,
    );
  });
  if (kept === undefined) return makeKey(path, pool);
  if (Buffer.from(kept, 'base64').length !== 32) {
    throw new StartError(
      `The encryption key in ${path} is damaged; it must be 32 bytes in base64. Restore it from a backup.`,
    );
  }
  return kept.trim();
}

async function makeKey(path: string, pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ used: boolean }>(`select to_regclass('migrations') is not null as used`);
  if (rows[0]?.used) {
    throw new StartError(
      `The encryption key ${path} is missing, but this database uses it: restore it from a backup, or set ENCRYPTION_KEY.`,
    );
  }
  const key = randomBytes(32).toString('base64');
  await writeFile(`${path}.new`, `${key}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
  return key;
}

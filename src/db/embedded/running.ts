/** The state of the embedded PostgreSQL as another process sees it. Read-only: starts and stops nothing. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { NAME } from './cluster.ts';
import { postmasterFile } from './postmaster.ts';
import { isPostmasterOf } from './process.ts';

export type EmbeddedState =
  | { state: 'absent' | 'stopped' }
  /** Without a URL when this user may not read its password. */
  | { state: 'running'; url: string | undefined };

/** The state of the embedded PostgreSQL in a data folder. */
export async function embeddedState(dataDir: string): Promise<EmbeddedState> {
  const clusterDir = join(resolve(dataDir), 'postgres');
  const isThere = await readFile(join(clusterDir, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) =>
    // The folder belongs to the user that the server runs as.
    error.code === 'EACCES' ? '?' : undefined,
  );
  if (isThere === undefined) return { state: 'absent' };
  const [pid, , , port] = await postmasterFile(clusterDir);
  if (!(Number(pid) > 1) || !(await isPostmasterOf(Number(pid), clusterDir))) return { state: 'stopped' };
  const password = await readFile(join(resolve(dataDir), 'postgres.password'), 'utf8').catch(() => undefined);
  const url = password && `postgres://${NAME}:${password.trim()}@127.0.0.1:${port}/${NAME}`;
  return { state: 'running', url };
}

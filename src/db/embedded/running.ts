/** The embedded PostgreSQL as another process finds it: for a look, not to start or stop anything. */
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { NAME } from './cluster.ts';
import { postmasterFile } from './postmaster.ts';
import { isPostmasterOf } from './process.ts';

export type EmbeddedState =
  | { state: 'absent' | 'stopped' }
  /** Without an address when its password may not be read. */
  | { state: 'running'; url: string | undefined };

/** What there is in a data folder. */
export async function embeddedState(dataDir: string): Promise<EmbeddedState> {
  const clusterDir = join(resolve(dataDir), 'postgres');
  const isThere = await readFile(join(clusterDir, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) =>
    // It belongs to the user that the server runs as.
    error.code === 'EACCES' ? '?' : undefined,
  );
  if (isThere === undefined) return { state: 'absent' };
  const [pid, , , port] = await postmasterFile(clusterDir);
  if (!(Number(pid) > 1) || !(await isPostmasterOf(Number(pid), clusterDir))) return { state: 'stopped' };
  const password = await readFile(join(resolve(dataDir), 'postgres.password'), 'utf8').catch(() => undefined);
  const url = password && `postgres://${NAME}:${password.trim()}@127.0.0.1:${port}/${NAME}`;
  return { state: 'running', url };
}

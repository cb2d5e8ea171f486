/**
 * Debian's PgBouncer in front of a test database: pool_mode = transaction, with fewer sessions than clients, so that
 * clients share them.
 *
 * On crash: it ends with this process, as its keeper reads a pipe that this process holds open.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { makeOwned, postgresAccount } from '../../../src/platform/db/embedded/cluster.ts';
import { freePort } from '../free-port.ts';
import { findProgram } from '../runner/programs.ts';
import { waitFor } from '../wait.ts';
import { folderIn } from './cluster-cache.ts';

const SESSIONS = 4;
const KEEPER = `exec 3<&0; "$@" & bouncer=$!; { read -r _ <&3; kill -s INT $bouncer; } & wait $bouncer`;

export interface PgBouncer {
  /** URL of the database through PgBouncer. */
  url: string;
  stop(): Promise<void>;
}

/** @param databaseUrl over TCP, with a password */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const dir = await folderIn(tmpdir());
  const account = await postgresAccount(dir);
  await makeOwned(dir, account);
  const port = await freePort();
  const file = join(dir, 'pgbouncer.ini');
  await writeFile(file, settings(new URL(databaseUrl), port), { mode: 0o644 });
  const identity = account ? { uid: account.uid, gid: account.gid } : {};
  const command = ['-c', KEEPER, 'sh', findProgram('pgbouncer') as string, '-q', file];
  const child = spawn('/bin/sh', command, { ...identity, cwd: '/', stdio: ['pipe', 'ignore', 'ignore'] });
  const exited = once(child, 'exit');
  const url = `postgres://anyone@127.0.0.1:${port}/muster`;
  await waitFor(() => answers(url), { what: 'PgBouncer' });
  return {
    url,
    async stop() {
      child.stdin.end();
      await exited;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function settings({ hostname, port, pathname, username, password }: URL, listenPort: number): string {
  const server = `host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}`;
  return `[databases]
muster = ${server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SESSIONS}
`;
}

async function answers(url: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.query('select');
  } finally {
    await client.end();
  }
}

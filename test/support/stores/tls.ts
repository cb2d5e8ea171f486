/** Stores that answer over TLS, with a certificate of a private authority, and ask for passwords. */
import { chmod, chown, copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Redis } from 'ioredis';
import { postgresAccount } from '../../../src/platform/db/embedded/cluster.ts';
import { openPool } from '../../../src/platform/db/pool.ts';
import { freePort } from '../free-port.ts';
import { findProgram } from '../runner/programs.ts';
import { startRedis } from './redis.ts';

/** Makes a running PostgreSQL offer TLS. Its key must be readable for its account only. */
export async function useTls(url: string, certificate: string, key: string): Promise<void> {
  const pool = openPool(url, { max: 1 });
  const folder = (await pool.query('show data_directory')).rows[0].data_directory;
  const account = await postgresAccount(folder);
  for (const [from, to] of [
    [certificate, join(folder, 'server.crt')],
    [key, join(folder, 'server.key')],
  ] as const) {
    await copyFile(from, to);
    await chmod(to, 0o600);
    if (account) await chown(to, account.uid, account.gid);
  }
  await pool.query('alter system set ssl = on');
  await pool.query('select pg_reload_conf()');
  await pool.end();
}

/** From now on PostgreSQL refuses connections without TLS, and without a password. */
export async function requirePasswords(url: string): Promise<void> {
  const pool = openPool(url, { max: 1 });
  const { hba_file: file } = (await pool.query('show hba_file')).rows[0];
  await writeFile(file, 'hostssl all all 127.0.0.1/32 scram-sha-256\n');
  await pool.query('select pg_reload_conf()');
  await pool.end();
}

export interface TlsRedis {
  /** With the password, if there is one. */
  url: string;
  /** Clients at the port without TLS, but for the one that asks. */
  plainClients(): Promise<string[]>;
  keys(pattern: string): Promise<string[]>;
}

export async function startTlsRedis(
  t: TestContext,
  { certificate, key, password }: { certificate: string; key: string; password?: string },
): Promise<TlsRedis> {
  const port = await freePort();
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
  const tls = ['--tls-port', `${port}`, '--tls-auth-clients', 'no', ...files];
  const server = await startRedis(findProgram('redis') as string, tls);
  t.after(() => server.stop());
  const login = password === undefined ? {} : { password };
  const ask = async <T>(read: (client: Redis) => Promise<T>, options = login): Promise<T> => {
    const client = new Redis(server.url, options);
    return read(client).finally(() => client.quit());
  };
  if (password !== undefined) await ask((client) => client.config('SET', 'requirepass', password), {});
  return {
    url: `rediss://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}localhost:${port}`,
    keys: (pattern) => ask((client) => client.keys(pattern)),
    plainClients: () =>
      ask(async (client) => {
        const own = await client.client('ID');
        const all = String(await client.client('LIST'))
          .trim()
          .split('\n');
        return all.filter((line) => !line.includes(`laddr=127.0.0.1:${port}`) && !line.startsWith(`id=${own} `));
      }),
  };
}

/**
 * Old systems on this machine, each in a folder of its own: the distribution's slapd and MariaDB. Their system services
 * are not touched.
 *
 * On crash: a server that is left behind ends with its parent's process group, or by hand.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'ldapts';
import { createConnection } from 'mysql2/promise';
import { freePort } from '../free-port.ts';
import { findProgram } from '../runner/programs.ts';
import { waitFor } from '../wait.ts';

const run = promisify(execFile);

export interface OldServer {
  url: string;
  port: number;
  stop(): Promise<void>;
}

export const SUFFIX = 'dc=shop,dc=example';
export const ROOT_DN = `cn=admin,${SUFFIX}`;
export const ROOT_PASSWORD = 'directory secret';

/** @param ldif entries below `SUFFIX`, which it contains too */
export async function startSlapd(ldif: string): Promise<OldServer> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-slapd-'));
  const config = join(folder, 'slapd.conf');
  await mkdir(join(folder, 'data'));
  const schemas = ['core', 'cosine', 'inetorgperson', 'nis'].map((name) => `include /etc/ldap/schema/${name}.schema`);
  const database = [
    'modulepath /usr/lib/ldap',
    'moduleload back_mdb',
    ...['database mdb', `suffix "${SUFFIX}"`, `rootdn "${ROOT_DN}"`, `rootpw "${ROOT_PASSWORD}"`],
    ...[`directory ${join(folder, 'data')}`, 'maxsize 1073741824', 'dbnosync', 'index objectClass eq'],
    // Anonymous readers see people without passwords, a few at a time.
    'access to attrs=userPassword by * none',
    'access to * by * read',
    'limits anonymous size.prtotal=2 size=2',
  ];
  await writeFile(config, `${[...schemas, ...database].join('\n')}\n`);
  await writeFile(join(folder, 'people.ldif'), ldif);
  const program = findProgram('slapd') as string;
  await run(program.replace(/slapd$/, 'slapadd'), ['-q', '-f', config, '-l', join(folder, 'people.ldif')]);
  const port = await freePort();
  const url = `ldap://127.0.0.1:${port}`;
  const child = spawn(program, ['-f', config, '-h', url, '-d', '0'], { stdio: 'ignore' });
  const server = { url, port, stop: () => stopped(child, folder) };
  const client = new Client({ url });
  await waitFor(() => client.bind(ROOT_DN, ROOT_PASSWORD).then(() => true), { what: 'slapd' }).catch(async (error) => {
    await server.stop();
    throw error;
  });
  await client.unbind();
  return server;
}

/** Its user `root` has no password. */
export async function startMariadb(): Promise<OldServer> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-mariadb-'));
  const program = findProgram('mariadb') as string;
  const common = ['--no-defaults', `--datadir=${folder}`, ...(process.getuid?.() === 0 ? ['--user=root'] : [])];
  const install = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'];
  await run('mariadb-install-db', [...common, ...install]);
  const port = await freePort();
  const limits = ['--innodb-buffer-pool-size=16M', '--innodb-flush-log-at-trx-commit=0', '--skip-log-bin'];
  const address = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 'sock')}`];
  const child = spawn(program, [...common, ...address, ...limits], { stdio: 'ignore' });
  const server = { url: `mysql://root@127.0.0.1:${port}`, port, stop: () => stopped(child, folder) };
  const connect = () => createConnection({ host: '127.0.0.1', port, user: 'root' });
  const connection = await waitFor(connect, { what: 'MariaDB' }).catch(async (error) => {
    await server.stop();
    throw error;
  });
  await connection.end();
  return server;
}

async function stopped(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
}

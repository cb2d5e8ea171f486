/**
 * The PostgreSQL of the machine's distribution as users get it: a fresh cluster, made by its own initdb with default
 * settings, and connected over TCP.
 *
 * Guarantee: it listens on the loopback interface only, with a password.
 *
 * On crash: the server ends too, because its keeper process reads a pipe that the bench holds open. Its folder stays
 * until /tmp is cleaned.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, chown, constants, glob, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Account, makeOwned, postgresAccount } from '../src/platform/db/embedded/cluster.ts';
import { claimPort } from '../src/platform/lifecycle.ts';
import type { Scope } from './scope.ts';

const run = promisify(execFile);
/** Debian, Ubuntu; Red Hat, Fedora, Alpine, Arch. */
const FOLDERS = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/usr/libexec/postgresql*', '/usr/bin'];
const ENV = { LANG: 'C.UTF-8', PATH: '/usr/local/bin:/usr/bin:/bin' };
/** Like the keeper in testbed/redis.ts; SIGINT is PostgreSQL's fast shutdown. */
const KEEPER = '"$@" & echo $!; read -r _; kill -s INT $!; wait';
const START_MS = 30_000;
const RETRY_MS = 50;
const SETTINGS = `select name, current_setting(name) as value from pg_settings
  where name in ('shared_buffers', 'max_wal_size', 'synchronous_commit', 'jit', 'random_page_cost', 'work_mem')`;

export interface RunningPostgres {
  /** URL of the database `muster`, for its superuser. */
  url: string;
  pid: number;
  /** `15.13` */
  version: string;
  settings: Record<string, string>;
}

/** The folder of the newest version's `initdb` and `postgres`; undefined where the machine has none. */
export async function distributionPrograms(): Promise<string | undefined> {
  const found: string[] = [];
  for (const pattern of FOLDERS) {
    for await (const folder of glob(pattern)) {
      const both = ['initdb', 'postgres'].map((name) => access(join(folder, name), constants.X_OK));
      if ((await Promise.allSettled(both)).every(({ status }) => status === 'fulfilled')) found.push(folder);
    }
  }
  const version = (folder: string) => Number(/\d+/.exec(folder)?.[0] ?? 0);
  return found.sort((a, b) => version(b) - version(a))[0];
}

/** Starts a new server in `dir`, which must not exist. @param programs from `distributionPrograms` */
export async function startDistribution(scope: Scope, programs: string, dir: string): Promise<RunningPostgres> {
  const account = await postgresAccount(dir);
  await makeOwned(dir, account);
  const password = randomBytes(24).toString('base64url');
  await initdb(programs, dir, password, account);
  const port = await claimPort('127.0.0.1', 0);
  const keeper = await scope.start(
    async () => spawnKeeper(programs, dir, port, account),
    (child) => stopKeeper(child),
  );
  const [first] = (await once(keeper.stdout, 'data')) as [Buffer];
  keeper.stdout.resume();
  const base = `postgres://postgres:${password}@127.0.0.1:${port}`;
  const facts = await untilAnswers(`${base}/postgres`);
  return { url: `${base}/muster`, pid: Number.parseInt(first.toString(), 10), ...facts };
}

async function initdb(programs: string, dir: string, password: string, account: Account | undefined): Promise<void> {
  const file = join(dir, 'password');
  await writeFile(file, password, { mode: 0o600 });
  if (account) await chown(file, account.uid, account.gid);
  const args = ['-D', join(dir, 'data'), '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${file}`];
  await run(join(programs, 'initdb'), args, { ...identity(account), cwd: '/', env: ENV });
}

function identity(account: Account | undefined) {
  return account ? { uid: account.uid, gid: account.gid } : {};
}

function spawnKeeper(programs: string, dir: string, port: number, account: Account | undefined) {
  const address = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', dir];
  const command = [join(programs, 'postgres'), '-D', join(dir, 'data'), ...address];
  return spawn('/bin/sh', ['-c', KEEPER, 'sh', ...command], {
    ...identity(account),
    detached: true,
    cwd: '/',
    env: ENV,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

async function stopKeeper(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exited = once(keeper, 'exit');
  keeper.stdin?.end();
  await exited;
}

/** Creates the database as soon as the server accepts connections. @throws Error when that takes too long */
async function untilAnswers(url: string): Promise<Pick<RunningPostgres, 'version' | 'settings'>> {
  const end = Date.now() + START_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('create database muster');
      const { rows } = await client.query<{ name: string; value: string }>(SETTINGS);
      const { server_version: version } = (await client.query('show server_version')).rows[0];
      const settings = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
      return { version: version.split(' ')[0], settings };
    } catch (error) {
      if (Date.now() > end) throw error;
    } finally {
      await client.end().catch(() => {}); // it was never open
    }
    await sleep(RETRY_MS);
  }
}

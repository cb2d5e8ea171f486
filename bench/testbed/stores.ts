/**
 * The store servers of a bench: redis-server, configured as in production (append-only file synced every second, no
 * eviction), and the PostgreSQL of the machine's distribution as users get it: a fresh cluster, made by its own initdb
 * with default settings, and connected over TCP.
 *
 * Guarantee: Redis listens on a unix socket only, PostgreSQL on the loopback interface only, with a password.
 * On crash: the servers end too, because their keepers read a pipe that the bench holds open. The folder of PostgreSQL
 * stays until /tmp is cleaned.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, chown, constants, glob, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import pg from 'pg';
import { type Account, makeOwned, postgresAccount } from '../../src/platform/db/embedded/cluster.ts';
import { claimPort } from '../../src/platform/lifecycle.ts';
import type { Scope } from '../scope.ts';

const REDIS_RETRY_MS = 20;
const REDIS_RETRIES = 500;

export interface RunningRedis {
  /** Path of its unix socket, which REDIS_URL accepts. */
  url: string;
  pid: number;
}

/** Version of the machine's redis-server; undefined when it has none. */
export function redisVersion(): string | undefined {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return stdout ? (/v=(\S+)/.exec(stdout)?.[1] ?? 'unknown') : undefined;
}

/** Starts a server that keeps its files in `dir` and listens on a unix socket only. */
export async function startRedis(scope: Scope, dir: string): Promise<RunningRedis> {
  await mkdir(dir, { recursive: true });
  const url = join(dir, 'redis.sock');
  const { pid } = await startKept(scope, 'TERM', ['redis-server', ...redisArguments(dir, url)]);
  await untilRedisAnswers(url);
  return { url, pid };
}

function redisArguments(dir: string, socket: string): string[] {
  const options = {
    port: '0',
    unixsocket: socket,
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
  };
  return Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
}

async function untilRedisAnswers(url: string): Promise<void> {
  const probe = new Redis(url, { retryStrategy: () => REDIS_RETRY_MS, maxRetriesPerRequest: REDIS_RETRIES });
  probe.on('error', () => {}); // the client retries; `ping` throws when it gives up
  try {
    await probe.ping();
  } finally {
    probe.disconnect();
  }
}

const run = promisify(execFile);
/** Debian, Ubuntu; Red Hat, Fedora, Alpine, Arch. */
const FOLDERS = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/usr/libexec/postgresql*', '/usr/bin'];
const ENV = { LANG: 'C.UTF-8', PATH: '/usr/local/bin:/usr/bin:/bin' };
const START_MS = 30_000;
const RETRY_MS = 50;
const SETTINGS = `select name, current_setting(name) as value from pg_settings
  where name in ('shared_buffers', 'max_wal_size', 'synchronous_commit', 'jit', 'random_page_cost', 'work_mem')`;

/** Characters that are kept of what a server writes. */
const OUTPUT = 4000;
const STOP_MS = 60_000;

interface RunningPostgres {
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
  const address = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-k', dir];
  const command = [join(programs, 'postgres'), '-D', join(dir, 'data'), ...address];
  // SIGINT is PostgreSQL's fast shutdown.
  const { pid } = await startKept(scope, 'INT', command, { ...identity(account), env: ENV });
  const base = `postgres://postgres:${password}@127.0.0.1:${port}`;
  const facts = await untilPostgresAnswers(`${base}/postgres`);
  return { url: `${base}/muster`, pid, ...facts };
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

/** Creates the database as soon as the server accepts connections. @throws Error when that takes too long */
async function untilPostgresAnswers(url: string): Promise<Pick<RunningPostgres, 'version' | 'settings'>> {
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

export interface Kept {
  /** Of the server. */
  pid: number;
  /** The end of what the server has written so far. */
  output(): string;
  /** Whether the server has ended. */
  isOver(): boolean;
}

/**
 * Starts a server under a keeper, which ends it with the signal when the scope or the bench ends. The keeper has its own
 * process session, so that Ctrl-C ends the bench first.
 */
export async function startKept(
  scope: Scope,
  signal: string,
  command: string[],
  options: SpawnOptions = {},
): Promise<Kept> {
  // Only the server holds stderr open, so its end is the end of the server.
  const script = `"$@" >&2 & echo $!; exec 2>&-; read -r _; kill -s ${signal} $!; wait`;
  let pid = 0;
  const keeper = await scope.start(
    async () =>
      spawn('/bin/sh', ['-c', script, 'sh', ...command], {
        ...options,
        detached: true,
        cwd: '/',
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    (child) => stopKeeper(child, () => pid),
  );
  let [written, over] = ['', false];
  keeper.stderr?.setEncoding('utf8').on('data', (text: string) => {
    written = (written + text).slice(-OUTPUT);
  });
  keeper.stderr?.once('end', () => {
    over = true;
  });
  const output = keeper.stdout as Readable;
  const [first] = (await once(output, 'data')) as [Buffer];
  output.resume();
  pid = Number.parseInt(first.toString(), 10);
  return { pid, output: () => written, isOver: () => over };
}

/** A server that does not end in time is killed. */
async function stopKeeper(keeper: ChildProcess, pid: () => number): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exited = once(keeper, 'exit');
  const late = setTimeout(() => pid() > 0 && process.kill(pid(), 'SIGKILL'), STOP_MS);
  keeper.stdin?.end();
  await exited;
  clearTimeout(late);
}

/**
 * The PostgreSQL of the machine's distribution as its package starts it: a new cluster, made by its own `initdb` with
 * default settings, except for the address.
 *
 * A server that ends is restarted on its address, as by a service manager.
 *
 * On crash: it ends with this process, because its keeper process reads a pipe that this process holds open.
 */
import { execFile, type StdioOptions, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { type Account, makeOwned, postgresAccount } from '../../../src/platform/db/embedded/cluster.ts';
import { freePort } from '../free-port.ts';
import { findProgram } from '../runner/programs.ts';
import { waitFor } from '../wait.ts';
import { folderIn } from './cluster-cache.ts';

const run = promisify(execFile);
const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' };
/** The keeper ends with the server, and the server with the pipe. */
const KEEPER = `exec 3<&0; "$@" & server=$!; echo $server
  { read -r _ <&3; kill -s INT $server; } & reader=$!; wait $server; kill $reader`;
const RESTART_MS = 200;
/** The first locale that the machine has; a language's locale does not sort by bytes. */
const LOCALES = ['en_US.utf8', 'en_US.UTF-8', 'C.utf8', 'C.UTF-8'];

export interface DistributionServer extends Replica {
  /** The value of `server_version`. */
  version: string;
  /** Process id of the postmaster; it changes with a restart. */
  readonly pid: number;
}

export interface Replica {
  /** URL of the database `muster`, for its superuser. */
  url: string;
  stop(): Promise<void>;
}

/** @throws Error when the machine has none, or when it does not start */
export async function startDistributionServer(): Promise<DistributionServer> {
  const program = findProgram('postgres');
  if (!program) throw new Error('The PostgreSQL of the distribution is not on this machine.');
  const dir = await folderIn(tmpdir());
  const account = await postgresAccount(dir);
  await makeOwned(dir, account);
  try {
    const password = await makeCluster(program, dir, account);
    const port = await freePort();
    const server = await keepRunning(program, dir, port, account);
    const base = `postgres://postgres:${password}@127.0.0.1:${port}`;
    const version = await firstLook(`${base}/postgres`);
    return {
      url: `${base}/muster`,
      version,
      get pid() {
        return server.pid();
      },
      async stop() {
        await server.stop();
        await rm(dir, { recursive: true, force: true });
      },
    };
  } catch (error) {
    await rm(dir, { recursive: true, force: true });
    throw error;
  }
}

/** Starts a streaming replica of a server, as `pg_basebackup -R` makes it. */
export async function startReplica(primary: Pick<DistributionServer, 'url'>): Promise<Replica> {
  const program = findProgram('postgres') as string;
  const dir = await folderIn(tmpdir());
  const account = await postgresAccount(dir);
  await makeOwned(dir, account);
  const removeFolder = () => rm(dir, { recursive: true, force: true });
  try {
    const args = ['-d', primary.url, '-D', join(dir, 'data'), '-R', '--checkpoint=fast', '--no-sync'];
    await run(join(dirname(program), 'pg_basebackup'), args, { ...identity(account), cwd: '/', env: ENV });
    const port = await freePort();
    const server = await keepRunning(program, dir, port, account);
    const url = new URL(primary.url);
    url.port = String(port);
    await waitFor(() => query(url.toString(), 'select'), { what: 'the replica' });
    return {
      url: url.toString(),
      async stop() {
        await server.stop();
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/** @returns the password of the superuser */
async function makeCluster(program: string, dir: string, account: Account | undefined): Promise<string> {
  const password = randomBytes(24).toString('base64url');
  await writeFile(join(dir, 'password'), password, { mode: 0o644 });
  const { stdout } = await run('locale', ['-a']).catch(() => ({ stdout: '' }));
  const known = stdout.split('\n');
  const locale = LOCALES.find((name) => known.includes(name)) ?? 'C.UTF-8';
  const args = ['-D', join(dir, 'data'), '-U', 'postgres', '--encoding=UTF8', `--locale=${locale}`];
  const access = ['--auth=scram-sha-256', `--pwfile=${join(dir, 'password')}`];
  await run(join(dirname(program), 'initdb'), [...args, ...access], { ...identity(account), cwd: '/', env: ENV });
  return password;
}

function identity(account: Account | undefined) {
  return account ? { uid: account.uid, gid: account.gid } : {};
}

interface Kept {
  pid(): number;
  stop(): Promise<void>;
}

async function keepRunning(program: string, dir: string, port: number, account: Account | undefined): Promise<Kept> {
  const address = ['-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=${dir}`];
  const command = [program, '-D', join(dir, 'data'), ...address];
  let stopping = false;
  let running = await launch(command, dir, account);
  const keep = async () => {
    for (;;) {
      await running.exited;
      if (stopping) return;
      await sleep(RESTART_MS);
      running = await launch(command, dir, account);
      if (stopping) running.end();
    }
  };
  const kept = keep();
  return {
    pid: () => running.pid,
    async stop() {
      stopping = true;
      running.end();
      await kept;
    },
  };
}

async function launch(command: string[], dir: string, account: Account | undefined) {
  const log = await open(join(dir, 'log'), 'a');
  const stdio: StdioOptions = ['pipe', 'pipe', log.fd];
  const child = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...command], {
    ...identity(account),
    detached: true,
    cwd: '/',
    env: ENV,
    stdio,
  });
  await log.close();
  const exited = once(child, 'exit');
  child.stdin?.on('error', () => {}); // it ended first
  const [first] = await once(child.stdout as NodeJS.ReadableStream, 'data');
  child.stdout?.resume();
  return { pid: Number(String(first).split('\n')[0]), exited, end: () => void child.stdin?.end() };
}

/** Waits until the server responds, and creates the database; returns the server's version. */
async function firstLook(url: string): Promise<string> {
  await waitFor(() => query(url, 'create database muster'), { what: 'the PostgreSQL of the distribution' });
  return (await query(url, 'show server_version')).rows[0].server_version;
}

async function query(url: string, text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    return await client.query(text);
  } finally {
    await client.end();
  }
}

/**
 * The redis-server of a bench, configured as in production: append-only file synced every second, no eviction.
 *
 * On crash: the server ends too, because its keeper process reads a pipe that the bench holds open.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Scope } from '../scope.ts';

/** $1 is the program; the keeper has its own process session, so that Ctrl-C ends the bench first. */
const KEEPER = '"$@" & echo $!; read -r _; kill -s TERM $!; wait';
const RETRY_MS = 20;
const RETRIES = 500;

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
  const keeper = await scope.start(
    async () => spawnKeeper(dir, url),
    (child) => stopKeeper(child),
  );
  const [first] = (await once(keeper.stdout, 'data')) as [Buffer];
  keeper.stdout.resume();
  await untilAnswers(url);
  return { url, pid: Number.parseInt(first.toString(), 10) };
}

function spawnKeeper(dir: string, socket: string) {
  const options = {
    port: '0',
    unixsocket: socket,
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn('/bin/sh', ['-c', KEEPER, 'sh', 'redis-server', ...args], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

async function stopKeeper(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exited = once(keeper, 'exit');
  keeper.stdin?.end();
  await exited;
}

async function untilAnswers(url: string): Promise<void> {
  const probe = new Redis(url, { retryStrategy: () => RETRY_MS, maxRetriesPerRequest: RETRIES });
  probe.on('error', () => {}); // the client retries; `ping` throws when it gives up
  try {
    await probe.ping();
  } finally {
    probe.disconnect();
  }
}

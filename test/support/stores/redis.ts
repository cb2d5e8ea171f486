/**
 * The Redis of the test run.
 *
 * On crash: it ends with this process, because its keeper process reads a pipe that this process holds open.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { findProgram } from '../runner/programs.ts';
import { waitFor } from '../wait.ts';

export { requireOrSkip } from '../runner/programs.ts';

/** Address of the run's Redis; undefined where there is none. QUEUE_PREFIX separates tests. */
export function redisUrl(): string | undefined {
  return process.env.TEST_REDIS_URL;
}

/** The run's Redis program, for a test that starts its own server. */
export function redisProgram(): string {
  return findProgram(process.env.TEST_OWN_REDIS === 'valkey' ? 'valkey' : 'redis') as string;
}

export interface TestRedis {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

const KEEPER = '"$@" & echo $!; read -r _; kill -s TERM $!; wait';

/** Starts a Redis without persistence on a free port. */
export function startRedis(program: string, extra: string[] = []): Promise<TestRedis> {
  return start([program], ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction', ...extra]);
}

/** Starts a Sentinel on a free port. @param file its configuration, which it also writes */
export function startSentinel(program: string, file: string): Promise<TestRedis> {
  return start([program, file], ['--sentinel']);
}

/** In a folder of its own: a replica keeps a copy there, which another version of the server may not be able to load. */
async function start(command: string[], options: string[]): Promise<TestRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-redis-'));
  const port = await freePort();
  const all = [...command, '--port', `${port}`, '--bind', '127.0.0.1', ...options];
  const keeper = spawn('/bin/sh', ['-c', KEEPER, 'sh', ...all], {
    detached: true,
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const exited = once(keeper, 'exit');
  const [first] = await once(keeper.stdout, 'data');
  keeper.stdout.resume();
  const stop = async () => {
    keeper.stdin.end();
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitFor(() => answersPing(port), { what: `redis-server on port ${port}` });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis://127.0.0.1:${port}`, pid: Number(String(first).split('\n')[0]), stop };
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', (data) => done(data.toString().startsWith('+PONG')));
    socket.once('error', () => done(false));
  });
}

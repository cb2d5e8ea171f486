/**
 * The server of the embedded database: one run of the program `postgres` on a cluster after another, on one address,
 * until it is told to stop.
 *
 * Guarantee: clients can reconnect to the same address. A server that ended because its disk is full is restarted once
 * there is space. If the server cannot be restarted for another reason, the process fails with it, as nothing works
 * without a database. A signal to our process group does not reach the server, so it outlives the processes that are
 * still draining. Only a process that is verified to be this cluster's postmaster gets a signal: a process id alone is
 * never trusted, because ids are reused; the start time or working directory decides.
 * On crash: the pipe that this process holds closes, and a watchdog stops the server. If the watchdog dies too, the
 * next start on the folder stops the server that it finds. PostgreSQL recovers from `kill -9` of everything.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, readlink, realpath, rename, statfs, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartError } from '../../errors.ts';
import { type Account, ENV } from './cluster.ts';

const PAUSE_MS = 500;
const MOST_TRIES = 40;
/** PostgreSQL may need two new segments of its log, of 16 MB, before it accepts connections. */
const LEAST_SPACE = 32 * 2 ** 20;

/**
 * How long a recovery after a crash may take: one that is ended begins again. 3.6 GB of log took 33 s, and on a
 * busy machine 1.8 GB took 52 s, so the 17 GB that a log of 32 GB has at most since its checkpoint take 3 to 8 minutes.
 */
const READY_WITHIN_MS = 60 * 60_000;

/**
 * When this process dies: waits so that workers and the API can finish their work, then requests a fast shutdown, only
 * if the postmaster is still the same process ($2 is postmaster.pid, whose first line is the process id).
 */
const WATCHDOG = 'read -r _; sleep 3; read -r pid < "$2"; [ "$pid" = "$1" ] && kill -s INT "$1"';

const MB = 2 ** 20;
const [LEAST_BUFFERS, MOST_BUFFERS] = [128, 4096];
/** The least is PostgreSQL's default. The most bounds the time of a recovery after a crash. */
const [LEAST_LOG, MOST_LOG] = [1024, 32 * 1024];

/**
 * The settings of the embedded PostgreSQL: the database of an import service, on a small machine shared with its
 * workers. The comment on each setting says why it differs from PostgreSQL's default.
 */
const SETTINGS: Record<string, string> = {
  listen_addresses: '127.0.0.1',
  unix_socket_permissions: '0700',
  // Several worker and API processes with a pool each, and room for a psql session.
  max_connections: '200',
  // Lists and reports sort a few thousand rows; building an index after an upgrade sorts all rows.
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  // Nothing replicates from this server, so the write-ahead log need not contain what only a replica reads.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  // `settingsFor` says why. A recovery after a crash replays at most what was written in this time.
  checkpoint_timeout: '15min',
  wal_buffers: '16MB',
  // "Accepted" means durable; the batch writer commits hundreds of users at once, so waiting for the disk is cheap.
  synchronous_commit: 'on',
  // Solid-state disks: a random read costs about what a sequential one does.
  random_page_cost: '1.1',
  // Compiling or parallelizing statements of a few milliseconds takes longer than running them.
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  // All rows of the queue's tables are replaced every few seconds.
  autovacuum_naptime: '20s',
  // Neither the machine's locale nor its time zone affects results.
  timezone: 'UTC',
  log_timezone: 'UTC',
  lc_messages: 'C',
  // Details and statements of errors contain personal data; they stay out of the log.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

export interface Supervised {
  port: number;
  pid(): number;
  stop(): Promise<void>;
}

interface LaunchOptions {
  program: string;
  clusterDir: string;
  logFile: string;
  port: number;
  /** Absent: no Unix socket. */
  socketDir?: string | undefined;
  settings: Record<string, string>;
  account?: Account | undefined;
  /** The server does not keep our process alive; the watchdog stops it after our process ends. */
  background?: boolean | undefined;
}

interface Running {
  pid: number;
  /** Resolves when the process is gone. */
  exited: Promise<void>;
  /** Keeps our process alive until the server is gone, even with `background`. */
  hold(): void;
}

type MayRetry = (error: unknown, tries: number) => boolean | Promise<boolean>;

/** @throws StartError when the server does not start */
export async function supervise(
  options: Omit<LaunchOptions, 'port'>,
  fixedPort: number | undefined,
  log: (line: string) => void,
): Promise<Supervised> {
  let port = 0;
  let running = await persist(async () => {
    port = fixedPort ?? (await freePort());
    return launch({ ...options, port });
  });
  log(`PostgreSQL runs as process ${running.pid} on port ${port}`);
  let stopping = false;
  const isCurable = untilSpace(options.clusterDir, log);
  const mayRetry: MayRetry = async (error, tries) => (await isCurable(error, tries)) && !stopping;
  const keep = async () => {
    for (;;) {
      await running.exited;
      if (stopping) return;
      log('PostgreSQL ended unexpectedly; starting it again');
      running = await persist(() => launch({ ...options, port }), mayRetry).catch((error) => {
        if (stopping) return running;
        throw error;
      });
      // `stop` was called in the meantime, and stopped only the process that had already died.
      if (stopping) await stopPostmaster(running.pid);
    }
  };
  const kept = keep();
  return {
    port,
    pid: () => running.pid,
    async stop() {
      stopping = true;
      running.hold();
      await stopPostmaster(running.pid);
      await kept;
    },
  };
}

/** Whether another start may succeed, which it may as soon as a full disk has space. */
function untilSpace(clusterDir: string, log: (line: string) => void): MayRetry {
  let isWaiting = false;
  return async (error, tries) => {
    const isFull = await lacksSpace(clusterDir);
    if (isFull && !isWaiting) log('PostgreSQL is started again when its disk has space');
    isWaiting = isFull;
    return isFull || isSoonOver(error, tries);
  };
}

async function persist(attempt: () => Promise<Running>, mayRetry: MayRetry = isSoonOver): Promise<Running> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(await mayRetry(error, tries))) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Whether the reason for the failure is transient; for about 20 seconds. */
function isSoonOver(error: unknown, tries: number): boolean {
  return isPassing(error) && tries < MOST_TRIES;
}

/** The server's own log may be on the same disk and lack the reason. */
async function lacksSpace(dir: string): Promise<boolean> {
  return (await freeSpace(dir)) < LEAST_SPACE;
}

/** Bytes that are free on the disk of a folder. */
export async function freeSpace(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

/** A free TCP port on 127.0.0.1. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Starts `postgres` and waits until it accepts connections.
 * @throws StartError with the last error in its log when it exits instead
 */
async function launch(options: LaunchOptions): Promise<Running> {
  await rename(options.logFile, `${options.logFile}.1`).catch(() => {});
  const { child, exited } = await spawnPostgres(options);
  const pid = child.pid as number;
  const watchdog = spawnWatchdog(pid, options.clusterDir);
  void exited.then(() => watchdog.kill('SIGKILL'));
  const ready = await Promise.race([untilReady(child, options.clusterDir), exited.then(() => false)]);
  if (!ready) throw await launchError(options, child);
  if (options.background) {
    child.unref();
    watchdog.unref();
    (watchdog.stdin as Socket).unref();
  }
  return { pid, exited, hold: () => child.ref() };
}

async function spawnPostgres(o: LaunchOptions): Promise<{ child: ChildProcess; exited: Promise<void> }> {
  const log = await open(o.logFile, 'a', 0o600);
  try {
    const settings = {
      ...o.settings,
      port: String(o.port),
      unix_socket_directories: o.socketDir ?? '',
    };
    const child = spawn(o.program, ['-D', o.clusterDir, ...asArguments(settings)], {
      // A separate session: Ctrl-C reaches only the terminal's process group.
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      cwd: '/',
      env: ENV,
      ...(o.account ? { uid: o.account.uid, gid: o.account.gid } : {}),
    });
    // Listen from the start: otherwise we would wait forever for a program that exits at once.
    const exited = once(child, 'exit').then(() => {});
    exited.catch(() => {}); // a failed spawn is reported below
    await once(child, 'spawn');
    return { child, exited };
  } finally {
    await log.close();
  }
}

function spawnWatchdog(pid: number, clusterDir: string): ChildProcess {
  const args = ['-c', WATCHDOG, 'sh', String(pid), join(clusterDir, 'postmaster.pid')];
  const child = spawn('/bin/sh', args, {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: ENV,
  });
  // The watchdog is killed while the pipe is open; a write error means only that.
  child.stdin?.on('error', () => child.stdin?.destroy());
  return child;
}

/**
 * Polls the status line of postmaster.pid, as `pg_ctl -w` does: connection attempts would only fill the log. Ends when
 * the child exits, because further polling would keep our process alive.
 */
async function untilReady(child: ChildProcess, clusterDir: string): Promise<boolean> {
  const end = Date.now() + READY_WITHIN_MS;
  while (Date.now() < end && child.exitCode === null && child.signalCode === null) {
    const lines = await postmasterFile(clusterDir);
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true;
    await sleep(15);
  }
  return false;
}

async function launchError(o: LaunchOptions, child: ChildProcess): Promise<StartError> {
  child.kill('SIGQUIT');
  const log = await readFile(o.logFile, 'utf8').catch(() => '');
  const said = log
    .split('\n')
    .filter((line) => /FATAL|PANIC|error while loading/.test(line))
    .at(-1);
  const error = new StartError(
    `The embedded PostgreSQL does not start (${said ?? 'no reason given'}): see ${o.logFile}.`,
  );
  return Object.assign(error, {
    passing: /shared memory block|could not (create any TCP|bind)|in use/i.test(log),
  });
}

/** Whether a retry of `launch` may succeed: the port was just taken, or old backends are still exiting. */
function isPassing(error: unknown): boolean {
  return (error as { passing?: boolean }).passing === true;
}

/**
 * The settings for a machine or container with `memory` bytes and `disk` free bytes.
 *
 * Tables and indexes of a running import should stay in shared buffers: a page that is evicted dirty is checksummed,
 * written and read again many times. PostgreSQL's documentation recommends a quarter of the memory; buffers that are not
 * needed are never touched.
 *
 * After a checkpoint, the first change of a page logs the whole page, which is 8 kB for each index in which the keys of
 * new users are spread. So a checkpoint brings the next one closer: with a log of 4 GB, ten million users had 39
 * checkpoints, 8,780 bytes of log each, and a last tenth at 0.62 of the first; with 32 GB none, 1,790 bytes and 0.97. The
 * log may take a third of the free disk.
 */
export function settingsFor(memory: number, disk: number): Record<string, string> {
  const buffers = Math.min(MOST_BUFFERS, Math.max(LEAST_BUFFERS, Math.floor(memory / MB / 4)));
  const log = Math.min(MOST_LOG, Math.max(LEAST_LOG, Math.floor(disk / MB / 3)));
  return {
    ...SETTINGS,
    shared_buffers: `${buffers}MB`,
    effective_cache_size: `${2 * buffers}MB`,
    max_wal_size: `${log}MB`,
  };
}

/** Settings as command-line arguments of `postgres`. */
function asArguments(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/**
 * Stops the postmaster that a run killed with SIGKILL left behind. The caller holds the folder's lock.
 * @returns its process id, if there was one
 */
export async function stopOrphan(clusterDir: string): Promise<number | undefined> {
  const lines = await postmasterFile(clusterDir);
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  if (await isPostmasterOf(pid, clusterDir)) {
    await stopPostmaster(pid);
    return pid;
  }
  // PostgreSQL refuses to start when another process now has that id, unless it is the id of its parent. The rest of
  // the file stays: PostgreSQL uses it to detect whether old backends still run.
  await writeFile(join(clusterDir, 'postmaster.pid'), [process.pid, ...lines.slice(1)].join('\n'));
  return undefined;
}

/** Fast shutdown: sessions end, and everything is written. Escalates to SIGQUIT and SIGKILL if that takes too long. */
async function stopPostmaster(pid: number): Promise<void> {
  for (const [signal, ms] of [
    ['SIGINT', 60_000],
    ['SIGQUIT', 10_000],
    ['SIGKILL', 10_000],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return;
      throw error;
    }
    if (await waitUntilGone(pid, ms)) return;
  }
}

/**
 * The lines of postmaster.pid: process id, data directory, start time, port, socket directory, address, shared memory,
 * status.
 */
export async function postmasterFile(clusterDir: string): Promise<string[]> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '');
  return text.split('\n');
}

const run = promisify(execFile);

/** Whether `pid` is a running postmaster of exactly this cluster. */
export async function isPostmasterOf(pid: number, clusterDir: string): Promise<boolean> {
  if (!(await startedAt(pid))) return false;
  if (process.platform !== 'linux') return ((await ps(pid, 'args=')) ?? '').includes(clusterDir);
  // A postmaster's working directory is its data directory.
  const [cwd, dir] = await Promise.all([readlink(`/proc/${pid}/cwd`).catch(() => ''), realpath(clusterDir)]);
  return cwd === dir;
}

/**
 * When the process started, as text to compare; undefined when there is no such process, or only a zombie.
 * Linux: proc(5), field 22 of /proc/PID/stat; elsewhere: ps.
 */
export async function startedAt(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return ps(pid, 'lstart=');
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  // The name in parentheses may itself contain spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && !/[ZX]/.test(fields[0] ?? 'X') ? fields[19] : undefined;
}

/** Waits at most `timeoutMs` until the process is gone. @returns whether it is gone */
async function waitUntilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const end = Date.now() + timeoutMs;
  while (await startedAt(pid)) {
    if (Date.now() > end) return false;
    await sleep(20);
  }
  return true;
}

async function ps(pid: number, column: string): Promise<string | undefined> {
  const found = await run('ps', ['-p', String(pid), '-o', 'stat=', '-o', column]).catch(() => undefined);
  const line = found?.stdout.trim();
  return line && !line.startsWith('Z') ? line.replace(/^\S+\s+/, '') : undefined;
}

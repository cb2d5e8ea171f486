/**
 * One run of the program `postgres` on a cluster, from spawn to exit.
 *
 * Guarantee: a signal to our process group does not reach the server, so it outlives the processes that are still
 * draining.
 * On crash: the pipe that this process holds closes, and a watchdog stops the server. If the watchdog dies too, the
 * next start on the folder stops the server that it finds (postmaster.ts). PostgreSQL recovers from `kill -9` of
 * everything.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../../start-error.ts';
import type { Account } from './access.ts';
import { ENV } from './cluster.ts';
import { postmasterFile } from './postmaster.ts';
import { asArguments } from './settings.ts';

export interface LaunchOptions {
  program: string;
  clusterDir: string;
  logFile: string;
  port: number;
  /** Absent: no Unix socket. */
  socketDir?: string;
  settings: Record<string, string>;
  account?: Account;
  /** The server does not keep our process alive; the watchdog stops it after our process ends. */
  background?: boolean;
}

export interface Running {
  pid: number;
  /** Resolves when the process is gone. */
  exited: Promise<void>;
  /** Keeps our process alive until the server is gone, even with `background`. */
  hold(): void;
}

/** How long a recovery after a crash may take. */
const READY_WITHIN_MS = 10 * 60_000;

/**
 * When this process dies: waits so that workers and the API can finish their work, then requests a fast shutdown, only
 * if the postmaster is still the same process ($2 is postmaster.pid, whose first line is the process id).
 */
const WATCHDOG = 'read -r _; sleep 3; read -r pid < "$2"; [ "$pid" = "$1" ] && kill -s INT "$1"';

/**
 * Starts `postgres` and waits until it accepts connections.
 * @throws StartError with the last error in its log when it exits instead
 */
export async function launch(options: LaunchOptions): Promise<Running> {
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
export function isPassing(error: unknown): boolean {
  return (error as { passing?: boolean }).passing === true;
}

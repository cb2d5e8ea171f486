/**
 * Supervises one child process: starts it, waits until it is ready, restarts it when it dies, and stops it.
 *
 * Guarantees: the child stays in the parent's process group and gets the group's signals itself. So the parent asks it
 * to stop over IPC, not with a second signal, and kills it only after its deadline.
 * On crash: the child notices the closed channel and drains.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StartError } from '../start-error.ts';

export interface ChildOptions {
  name: string;
  /** Path of its entry file. */
  file: string;
  /** Options of its Node.js. */
  execArgv?: readonly string[];
  env: Record<string, string | undefined>;
  logger: Logger;
  /** Milliseconds that it may take to drain. */
  stopAfterMs: number;
  /** Destination of its output; a number is an open file. */
  output: 'inherit' | 'ignore' | number;
}

export interface Child {
  readonly pid: number | undefined;
  /** From now on it is not restarted when it ends, as everything is about to stop. */
  letGo(): void;
  /** Drains it; resolves when it has ended. */
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): void;
}

const READY_WITHIN_MS = 60_000;
/** Time for the exit itself, after the child's own deadline. */
const GRACE_MS = 2000;
const PAUSE_MS = { first: 200, most: 10_000 };
/** A child that ran this long did not fail at its start. */
const HEALTHY_AFTER_MS = 60_000;

/**
 * Resolves when the child reports that it is ready.
 * @throws StartError when it ends before that; its own output says why
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, logger } = options;
  let child = spawnChild(options);
  const stopping = new AbortController();
  await untilReady(child, name);

  const keep = async () => {
    for (let deaths = 1; ; deaths++) {
      const since = performance.now();
      await ended(child);
      if (stopping.signal.aborted) return;
      if (performance.now() - since > HEALTHY_AFTER_MS) deaths = 1;
      const pause = Math.min(PAUSE_MS.first * 2 ** (deaths - 1), PAUSE_MS.most);
      logger.error(
        { child: name, code: child.exitCode, signal: child.signalCode },
        `a process died; restart in ${pause} ms`,
      );
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      child = spawnChild(options);
    }
  };
  const kept = keep();

  return {
    get pid() {
      return child.pid;
    },
    letGo() {
      stopping.abort();
    },
    async stop() {
      stopping.abort();
      await stopChild(child, options.stopAfterMs + GRACE_MS);
      await kept;
    },
    kill() {
      stopping.abort();
      child.kill('SIGKILL');
    },
  };
}

function spawnChild({ file, env, output, execArgv = [] }: ChildOptions): ChildProcess {
  return fork(file, [], {
    env: env as NodeJS.ProcessEnv,
    execArgv: [...execArgv],
    stdio: ['ignore', output, output, 'ipc'],
  });
}

async function untilReady(child: ChildProcess, name: string): Promise<void> {
  const patience = new AbortController();
  const ready = new Promise<true>((resolve) => {
    child.on('message', (message) => {
      if ((message as { ready?: boolean } | null)?.ready) resolve(true);
    });
  });
  const late = sleep(READY_WITHIN_MS, undefined, { signal: patience.signal, ref: false }).catch(() => {});
  const isReady = await Promise.race([ready, ended(child), late]);
  patience.abort();
  if (isReady) return;
  const what = isOver(child)
    ? `ended with status ${child.exitCode ?? child.signalCode} before it was ready; its output says why`
    : `was not ready within ${READY_WITHIN_MS / 1000} seconds`;
  child.kill('SIGKILL');
  throw new StartError(`The ${name} process ${what}.`);
}

async function stopChild(child: ChildProcess, withinMs: number): Promise<void> {
  if (isOver(child)) return;
  const deadline = setTimeout(() => child.kill('SIGKILL'), withinMs);
  // An error here means that the child is already ending; the next line waits for that.
  if (child.connected) child.send({ stop: true }, () => {});
  await ended(child);
  clearTimeout(deadline);
}

function isOver(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

async function ended(child: ChildProcess): Promise<void> {
  if (!isOver(child)) await once(child, 'exit');
}

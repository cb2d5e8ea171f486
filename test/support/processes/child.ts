/**
 * One of Muster's processes as the tests run it: an entry file with its own environment, whose output is kept.
 *
 * On crash: if the test is killed, the process notices the closed IPC channel and ends.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { baseEnv, NEW_SPACE } from './base-env.ts';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface TestProcess {
  pid: number;
  /** What it reported when it was ready: `port` of an API. */
  ready: Record<string, unknown>;
  /** Its output so far, stdout and stderr. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  /** Settles when it has ended. */
  exited: Promise<Exit>;
  readonly isOver: boolean;
}

const ROOT = new URL('../../../', import.meta.url);

/** One of Muster's processes, as a Node.js child process. */
export interface Child {
  process: ChildProcess;
  /** Its output so far, stdout and stderr. */
  output(): string;
  /** Settles when it has ended. */
  exited: Promise<Exit>;
}

/** The file of its bundle (../runner/bundle.ts), if this run made any. */
function fileOf(program: string): string {
  const bundle = resolve(process.env.TEST_BUNDLES ?? '', program.replace(/\.ts$/, '.js'));
  return process.env.TEST_BUNDLES && existsSync(bundle) ? bundle : fileURLToPath(new URL(program, ROOT));
}

/**
 * Spawns `file`, a path from the root of the project.
 * @param env its whole environment, except PATH and the folder of the compile cache
 */
export function spawnChild(file: string, env: Record<string, string>): Child {
  const child = spawn(process.execPath, [NEW_SPACE, fileOf(file)], {
    cwd: fileURLToPath(ROOT),
    env: { ...baseEnv(), ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => chunks.push(text));
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  return { process: child, output: () => chunks.join(''), exited };
}

/**
 * Waits until a child reports that it is ready.
 * @returns what it reported
 * @throws Error with its output when it ends instead
 */
export async function untilReady(child: Child, name: string): Promise<Record<string, unknown>> {
  const ready = await Promise.race([readiness(child.process), child.exited]);
  if ('ready' in ready) return ready;
  throw new Error(`${name} ended (${ready.code ?? ready.signal}) before it was ready:\n${child.output()}`);
}

/**
 * Starts `file`, a path from the root of the project, and waits until it is ready.
 * @param env its whole environment, except PATH and the folder of the compile cache
 * @throws Error with its output when it ends instead
 */
export async function startChild(file: string, env: Record<string, string>): Promise<TestProcess> {
  const child = spawnChild(file, env);
  const ready = await untilReady(child, file);
  const { process: own, output, exited } = child;
  return {
    pid: own.pid as number,
    ready,
    output,
    kill: (signal) => void own.kill(signal),
    exited,
    get isOver() {
      return own.exitCode !== null || own.signalCode !== null;
    },
  };
}

function readiness(child: ChildProcess): Promise<{ ready: true } & Record<string, unknown>> {
  return new Promise((resolve) => {
    child.on('message', function hear(message) {
      if (!(message as { ready?: boolean }).ready) return;
      child.off('message', hear);
      resolve(message as { ready: true });
    });
  });
}

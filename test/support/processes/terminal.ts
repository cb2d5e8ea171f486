/**
 * `muster` as people and scripts run it: on a pseudo-terminal (util-linux's `script`), or with pipes.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findProgram } from '../runner/programs.ts';
import { type WaitOptions, waitFor } from '../wait.ts';
import { environmentOf, type Finished, MOST_MS, type RunOptions } from './muster.ts';

export const MUSTER = fileURLToPath(new URL('../../../src/cli/muster.js', import.meta.url));

export interface MusterOptions extends RunOptions {
  cwd?: string;
}

export interface Running {
  pid: number;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  finished: Promise<Finished>;
}

/** Starts `muster` without a terminal. */
export function startMuster(args: readonly string[], options: MusterOptions = {}): Running {
  return startProgram(process.execPath, [MUSTER, ...args], options);
}

/** Runs a line of bash in which `muster` is a command; `pipefail` is set. */
export function runShell(line: string, options: MusterOptions = {}): Promise<Finished> {
  const muster = `muster() { ${[process.execPath, MUSTER].map(quoted).join(' ')} "$@"; }`;
  return startProgram('bash', ['-c', `set -o pipefail; ${muster}; ${line}`], options).finished;
}

export interface Terminal {
  /** Its output so far, including control sequences. */
  output(): string;
  /** The same as text: without control sequences, and with the last state of overwritten lines. */
  text(): string;
  /** Types; `\x03` is Ctrl-C. */
  type(keys: string): void;
  /** Waits until `text` matches. */
  shows(what: RegExp, options?: Partial<WaitOptions>): Promise<void>;
  /** The exit code of the command. */
  ended: Promise<number>;
}

export interface TerminalOptions extends MusterOptions {
  columns?: number;
}

/** Runs `muster` on its own pseudo-terminal, which is hung up at the end of the test. */
export function openTerminal(t: TestContext, args: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 100 } = options;
  const command = [process.execPath, MUSTER, ...args].map(quoted).join(' ');
  const line = `stty cols ${columns} rows 30; exec ${command}`;
  const child = spawn(findProgram('script') ?? 'script', ['-qefc', line, '/dev/null'], {
    cwd: options.cwd,
    env: { ...environmentOf(options), TERM: 'xterm', SHELL: '/bin/sh' },
    stdio: 'pipe',
  });
  const output = collected(child);
  const ended = endOf(child);
  child.stdin.on('error', () => {}); // the command has ended and reads no more input
  t.after(async () => {
    child.kill('SIGHUP');
    await ended;
  });
  const text = () => plain(output.stdout());
  return {
    output: output.stdout,
    text,
    type: (keys) => void child.stdin.write(keys),
    async shows(what, given) {
      const options = { what: `${what} on the terminal`, ...given };
      await waitFor(() => what.test(text()), options).catch((error: Error) => {
        throw new Error(`${error.message}; it shows:\n${text()}`);
      });
    },
    ended,
  };
}

/** Starts a program without a terminal. */
export function startProgram(program: string, args: readonly string[], options: MusterOptions): Running {
  const stdin = options.input === undefined ? 'ignore' : 'pipe';
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: environmentOf(options),
    stdio: [stdin, 'pipe', 'pipe'],
    timeout: MOST_MS,
    killSignal: 'SIGKILL',
  });
  child.stdin?.on('error', () => {}); // a command need not read all of it
  child.stdin?.end(options.input);
  const { stdout, stderr } = collected(child);
  return {
    pid: child.pid as number,
    stdout,
    stderr,
    kill: (signal) => void child.kill(signal),
    finished: endOf(child).then((code) => ({ code, stdout: stdout(), stderr: stderr() })),
  };
}

function collected(child: ChildProcess): { stdout(): string; stderr(): string } {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
    });
  }
  return { stdout: () => texts.stdout, stderr: () => texts.stderr };
}

const NUMBERS: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGPIPE: 13, SIGTERM: 15 };

/** Resolves when it has ended and all its output has arrived. */
async function endOf(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (NUMBERS[signal as NodeJS.Signals] ?? 0);
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** Control sequences of ECMA-48, and the two-letter ones of the VT100. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control sequences
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[ -/]*[0-~])/g;

function plain(output: string): string {
  const lines = output.replaceAll('\x1b[1G', '\r').replace(SEQUENCES, '').split(/\r*\n/);
  return lines.map((line) => line.split('\r').findLast((state) => state !== '') ?? '').join('\n');
}

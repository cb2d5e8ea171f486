/** One of Muster's processes that need not become ready: its output, and how it ends. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { baseEnv } from './base-env.ts';

export interface Launched {
  /** Its output to stdout so far: the log. */
  log(): string;
  /** Its output to stderr so far. */
  errors(): string;
  kill(signal: NodeJS.Signals): void;
  /** Settles when it has ended: its exit code, or the signal. */
  ended: Promise<number | string>;
}

/** Starts `file`, a path from the root of the project; it is killed when the test is over. */
export function launch(t: TestContext, file: string, env: Record<string, string>): Launched {
  const entry = fileURLToPath(new URL(`../../../${file}`, import.meta.url));
  const child = spawn(process.execPath, [entry], { env: { ...baseEnv(), ...env }, stdio: 'pipe' });
  const texts = { log: '', errors: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.log += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.errors += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { log: () => texts.log, errors: () => texts.errors, kill: (signal) => void child.kill(signal), ended };
}

/** A port that is in use. */
export async function takenPort(t: TestContext): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return String((server.address() as { port: number }).port);
}

/** The entries of a JSON log at level `warn` and above. */
export function warnings(log: string): { level: number; msg: string; repeats?: number }[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
}

/**
 * `muster` in this process, with its own streams and environment: loading its code takes ten times longer than most
 * commands. Tests of signals, terminals, pipes and help, which yargs prints to the process, use terminal.ts.
 */
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { Shell } from '../../../src/cli/terminal/completion.ts';
import { withTimeout } from '../../../src/platform/timeouts.ts';
import { baseEnv } from './base-env.ts';

/** Enough for any command here. */
export const MOST_MS = 120_000;

export interface RunOptions {
  /** In addition to PATH and a few others: MUSTER_URL, MUSTER_TOKEN, XDG_CONFIG_HOME. */
  env?: Record<string, string | undefined>;
  /** The whole standard input; absent: none. */
  input?: string | Uint8Array;
}

export interface InProcessOptions extends RunOptions {
  /** Take the output for a terminal's of 100 columns. */
  terminal?: boolean;
}

export interface Finished {
  /** After a signal, 128 plus its number, as in a shell. */
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `muster` to its end. @throws TimedOut when it hangs */
export async function runMuster(args: readonly string[], options: InProcessOptions = {}): Promise<Finished> {
  const { run } = await import('../../../src/cli/run.ts');
  const look = options.terminal ? { isTTY: true, columns: 100 } : {};
  const [stdout, stderr] = [openText(look), openText(look)];
  const stdin = Readable.from(options.input === undefined ? [] : [Buffer.from(options.input)], { objectMode: false });
  const shell = {
    stdin,
    stdout: stdout.stream,
    stderr: stderr.stream,
    env: environmentOf(options),
  } as unknown as Shell;
  const code = await withTimeout(run(args, shell), MOST_MS, `muster ${args.join(' ')}`);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

/** Without a stored login: the configuration folder does not exist. */
export function environmentOf({ env }: RunOptions): NodeJS.ProcessEnv {
  return { ...baseEnv(), XDG_CONFIG_HOME: join(tmpdir(), 'muster-nobody'), ...env };
}

/** A stream that keeps what is written. */
function openText(look: { isTTY?: boolean; columns?: number }): { stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, look), text: () => Buffer.concat(chunks).toString() };
}

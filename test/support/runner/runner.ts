/** Node's test runner in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface RunnerOptions {
  /** Begun in this order, unless there are options. */
  files: readonly string[];
  /** For `node --test`. */
  options: readonly string[];
  /** Files that run at the same time. */
  atOnce: number;
  env: Record<string, string | undefined>;
}

export interface Runner {
  kill(signal: NodeJS.Signals): void;
  /** Its exit status. */
  ended: Promise<number>;
}

/** Every test file and every service under test is a process of its own: what one has compiled the next need not. */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/node', import.meta.url));
const RUN_FILES = fileURLToPath(new URL('./run-files.ts', import.meta.url));
/** No file takes a tenth of it; what hangs is named and fails instead of holding the run. */
const MOST_MS = 1_200_000;

export function startRunner({ files, options, atOnce, env }: RunnerOptions): Runner {
  const limits = [`--test-concurrency=${atOnce}`, `--test-timeout=${MOST_MS}`];
  // The command line has every option, the API takes the files in our order.
  const args =
    options.length > 0
      ? ['--test', ...limits, ...options, ...files]
      : [RUN_FILES, String(atOnce), String(MOST_MS), ...files];
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...env },
  });
  const ended = once(child, 'close').then(([code]) => (code as number | null) ?? 130);
  return { kill: (signal) => void child.kill(signal), ended };
}

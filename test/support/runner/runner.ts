/** Node's test runner in a separate process. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface RunnerOptions {
  /** Started in this order, unless there are options. */
  files: readonly string[];
  /** For `node --test`. */
  options: readonly string[];
  /** Number of files that run at the same time. */
  atOnce: number;
  env: Record<string, string | undefined>;
  /** Gets a line for each error that a route answers: see collect-errors.ts. */
  errorsFile: string;
}

export interface Runner {
  kill(signal: NodeJS.Signals): void;
  /** Its exit status. */
  ended: Promise<number>;
}

/** Every test file and every service under test is a separate process; the cache saves compiling the code again. */
const COMPILE_CACHE = fileURLToPath(new URL('../../../node_modules/.cache/node', import.meta.url));
/** Changes with the versions of packages. */
const LOCK = createHash('sha256').update(readFileSync(new URL('../../../package-lock.json', import.meta.url)));
const RESOLVE_CACHE = `--import=${new URL(`./resolve-cache.ts?-${LOCK.digest('hex').slice(0, 12)}`, import.meta.url)}`;
const COLLECT_ERRORS = `--import=${new URL('./collect-errors.ts', import.meta.url)}`;
const RUN_FILES = fileURLToPath(new URL('./run-files.ts', import.meta.url));
/** Ten times longer than any file takes; a file that hangs is named and fails, instead of blocking the run. */
const MOST_MS = 1_200_000;

export function startRunner({ files, options, atOnce, env, errorsFile }: RunnerOptions): Runner {
  const limits = [`--test-concurrency=${atOnce}`, `--test-timeout=${MOST_MS}`];
  // The command line supports every option; the API keeps the order of the files.
  const args =
    options.length > 0
      ? ['--test', ...limits, ...options, ...files]
      : [RUN_FILES, String(atOnce), String(MOST_MS), ...files];
  const preloads = `${RESOLVE_CACHE} ${COLLECT_ERRORS}?to=${encodeURIComponent(errorsFile)}`;
  const child = spawn(process.execPath, args, {
    stdio: 'inherit',
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, TEST_NODE_OPTIONS: preloads, ...process.env, ...env },
  });
  const ended = once(child, 'close').then(([code]) => (code as number | null) ?? 130);
  return { kill: (signal) => void child.kill(signal), ended };
}

/**
 * Runs a command in a scope, and reads the arguments of `npm run bench`.
 *
 * Guarantee: everything that the command starts ends with it, also on Ctrl-C and when it fails.
 */
import { parseArgs } from 'node:util';
import { openScope, type Scope } from './scope.ts';

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/**
 * Runs the command, then ends the process: with 0 if `run` returns true, 2 if the arguments are wrong, else 1.
 * @param run gets whether the process is ending, after which its errors mean nothing
 */
export async function runCommand(run: (scope: Scope, isEnding: () => boolean) => Promise<boolean>): Promise<void> {
  const scope = openScope();
  let ending = false;

  /** Ignores further signals, as npm sends Ctrl-C a second time. */
  function end(status: number): void {
    if (ending) return;
    ending = true;
    scope.close().then(
      () => process.exit(status),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
  }

  for (const [signal, status] of Object.entries(SIGNALS)) process.on(signal, () => end(status));
  try {
    end((await run(scope, () => ending)) ? 0 : 1);
  } catch (error) {
    if (!ending) console.error(error instanceof UsageError ? error.message : error);
    end(error instanceof UsageError ? 2 : 1);
  }
}

export interface Options {
  /** Benches to run, in this order. */
  names: string[];
  /** Absent: each bench's own number. */
  users?: number;
  /** Of an uploaded file, in megabytes. Absent: the bench's own size. */
  size?: number;
  workers: number;
  json: boolean;
}

/** Wrong arguments; the message is one sentence. */
export class UsageError extends Error {}

const MAX_USERS = 100_000_000;
/** MAX_IMPORT_BYTES. */
const MAX_SIZE = 2000;
const MAX_WORKERS = 64;

/**
 * @param known names of all benches
 * @param usual the benches that run when none is named
 * @param groups names that stand for several benches
 * @throws UsageError
 */
export function readOptions(
  args: string[],
  known: string[],
  usual: string[] = known,
  groups: Record<string, string[]> = {},
): Options {
  const { json, only, users, size, workers } = parsed(args);
  const named = only === undefined ? usual : only.split(',').map((name) => name.trim());
  const names = named.flatMap((name) => groups[name] ?? name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new UsageError(
      `There is no bench "${unknown}": --only takes ${[...known, ...Object.keys(groups)].join(', ')}.`,
    );
  return {
    names: [...new Set(names)],
    ...(users === undefined ? {} : { users: wholeNumber('--users', users, MAX_USERS) }),
    ...(size === undefined ? {} : { size: wholeNumber('--size', size, MAX_SIZE) }),
    workers: wholeNumber('--workers', workers, MAX_WORKERS),
    json,
  };
}

function parsed(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    users: { type: 'string' },
    size: { type: 'string' },
    workers: { type: 'string', default: '1' },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(option: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= most) return value;
  throw new UsageError(`${option} takes a whole number from 1 to ${most}, not "${text}".`);
}

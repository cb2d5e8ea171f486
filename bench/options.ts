/** The arguments of `npm run bench`. */
import { parseArgs } from 'node:util';

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

/** The arguments of `npm run bench`. */
import { parseArgs } from 'node:util';

export interface Options {
  /** Benches to run, in this order. */
  names: string[];
  /** Absent: each bench's own number. */
  users?: number;
  workers: number;
  json: boolean;
}

/** Wrong arguments; the message is one sentence. */
export class UsageError extends Error {}

const MAX_USERS = 100_000_000;
const MAX_WORKERS = 64;

/**
 * @param known names of all benches
 * @param usual the benches that run when none is named
 * @throws UsageError
 */
export function readOptions(args: string[], known: string[], usual: string[] = known): Options {
  const { json, only, users, workers } = parsed(args);
  const names = only === undefined ? usual : only.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no bench "${unknown}": --only takes ${known.join(', ')}.`);
  return {
    names: [...new Set(names)],
    ...(users === undefined ? {} : { users: wholeNumber('--users', users, MAX_USERS) }),
    workers: wholeNumber('--workers', workers, MAX_WORKERS),
    json,
  };
}

function parsed(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    users: { type: 'string' },
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

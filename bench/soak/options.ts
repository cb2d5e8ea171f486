/** The arguments of `npm run soak`. */
import { parseArgs } from 'node:util';
import { UsageError } from '../options.ts';

export interface SoakOptions {
  minutes: number;
  /** Event streams that are open at the same time. */
  streams: number;
  /** Users of each bulk import. */
  users: number;
  /** Worker processes. */
  workers: number;
  json: boolean;
}

/** @throws UsageError */
export function readSoakOptions(args: string[]): SoakOptions {
  const { json, minutes, streams, users, workers } = parsed(args);
  return {
    minutes: number('--minutes', minutes, { least: 0.05, most: 10_000 }),
    streams: whole('--streams', streams, { least: 1, most: 2500 }),
    users: whole('--users', users, { least: 10, most: 1_000_000 }),
    workers: whole('--workers', workers, { least: 1, most: 64 }),
    json,
  };
}

function parsed(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    streams: { type: 'string', default: '2000' },
    users: { type: 'string', default: '200000' },
    workers: { type: 'string', default: '1' },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

interface Range {
  least: number;
  most: number;
}

function number(option: string, text: string, { least, most }: Range): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new UsageError(`${option} takes a number from ${least} to ${most}, not "${text}".`);
}

function whole(option: string, text: string, range: Range): number {
  const value = number(option, text, range);
  if (Number.isInteger(value)) return value;
  throw new UsageError(`${option} takes a whole number, not "${text}".`);
}

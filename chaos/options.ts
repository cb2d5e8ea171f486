/** The arguments of `npm run chaos`. */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { UsageError } from '../bench/command.ts';
import { BACKENDS, type Backend } from './plan/plan.ts';

export interface Options {
  seed: number;
  rounds: number;
  /** The first round: to repeat a round that failed. */
  from: number;
  backends: Backend[];
  /** Only these faults. */
  only?: string[];
  /** The size of an import that each round has in addition. */
  users?: number;
  /** Rounds at the same time: each mostly waits. */
  atOnce: number;
  json: boolean;
  /** Print the plans and do nothing. */
  plan: boolean;
}

const MAX = 2 ** 31 - 1;

/** @param faults the names of all faults @throws UsageError */
export function readOptions(args: string[], faults: string[]): Options {
  const { seed, rounds, from, backend, only, users, 'at-once': atOnce, json, plan } = parsed(args);
  const isBackend = (name: string): name is Backend => (BACKENDS as readonly string[]).includes(name);
  if (backend !== undefined && !isBackend(backend))
    throw new UsageError(`--backend must be ${BACKENDS.join(' or ')}, not "${backend}".`);
  const names = only?.split(',').map((name) => name.trim());
  const unknown = names?.find((name) => !faults.includes(name));
  if (unknown !== undefined) throw new UsageError(`There is no fault "${unknown}": --only takes ${faults.join(', ')}.`);
  return {
    seed: seed === undefined ? randomInt(1, 1_000_000) : wholeNumber('--seed', seed),
    rounds: wholeNumber('--rounds', rounds),
    from: wholeNumber('--from', from),
    backends: backend === undefined ? [...BACKENDS] : [backend],
    ...(names ? { only: names } : {}),
    ...(users === undefined ? {} : { users: wholeNumber('--users', users) }),
    atOnce: wholeNumber('--at-once', atOnce),
    json,
    plan,
  };
}

function parsed(args: string[]) {
  const options = {
    seed: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    from: { type: 'string', default: '1' },
    backend: { type: 'string' },
    only: { type: 'string' },
    users: { type: 'string' },
    'at-once': { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    plan: { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= MAX) return value;
  throw new UsageError(`${option} must be a whole number from 1 to ${MAX}, not "${text}".`);
}

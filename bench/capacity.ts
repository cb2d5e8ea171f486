/**
 * `npm run capacity`: how many users a second an installation of a given size writes, and which part limits it first.
 *
 *   npm run capacity                                                 the sizes of docs/scaling.md
 *   npm run capacity -- --worker 4 --redis 2 --postgres 4 --api 1    one size; a part that is not named has one core
 *   npm run capacity -- --costs postgres=45,api=6                    with your own costs, from the bench `cost`
 *
 * A part alone reaches its cores divided by the processor time of a user. Together the parts reach less, because they
 * wait for each other: their limits combine as (Σ limit^-p)^(-1/p).
 */
import { parseArgs } from 'node:util';
import { UsageError } from './command.ts';

const PARTS = ['worker', 'redis', 'postgres', 'api', 'dispatcher'] as const;
type Part = (typeof PARTS)[number];

/** Microseconds of processor time for each user. */
export type Costs = Record<Part, number>;

/** Cores of all processes of a part. A Redis server or a master of a Cluster uses one, and so does the dispatcher. */
export type Size = Record<Exclude<Part, 'dispatcher'>, number>;

/** Of the bench `cost` on 2026-11-25. The dispatcher ran in the worker, whose 26 µs are divided between them. */
const COSTS: Costs = { worker: 22.5, redis: 19, postgres: 39, api: 11, dispatcher: 3.5 };
/** Fitted on 2026-11-25 to 12 runs with 1 to 8 workers and 1 to 4 shards (docs/scaling.md). */
const EXPONENT = 2.6;

/** The sizes of docs/scaling.md. */
const SIZES: readonly Size[] = [
  { worker: 1, redis: 1, postgres: 1, api: 1 },
  { worker: 2, redis: 1, postgres: 2, api: 1 },
  { worker: 4, redis: 2, postgres: 4, api: 1 },
  { worker: 8, redis: 4, postgres: 8, api: 2 },
  { worker: 16, redis: 8, postgres: 16, api: 4 },
  { worker: 64, redis: 8, postgres: 32, api: 8 },
];
const COLUMNS = ['Worker cores', 'Redis servers', 'PostgreSQL cores', 'API cores', 'Users/s', 'A million users'];

/** A table in Markdown, a row for each size. */
export function sizingTable(sizes: readonly Size[] = SIZES, costs: Costs = COSTS): string {
  const rows = sizes.map((size) => {
    const users = rate(size, costs);
    const first = firstLimit(size, costs);
    const cores = [size.worker, size.redis, size.postgres, size.api].map(String);
    const alone = `${first} (${thousands(limits(size, costs)[first])} alone)`;
    return [...cores, thousands(users), duration(1e6 / users), alone];
  });
  const columns = [...COLUMNS, 'First limit'];
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Users a second of the whole. */
export function rate(size: Size, costs: Costs): number {
  const sum = Object.values(limits(size, costs)).reduce((total, limit) => total + limit ** -EXPONENT, 0);
  return sum ** (-1 / EXPONENT);
}

/** Users a second that each part reaches alone. */
export function limits(size: Size, costs: Costs): Record<Part, number> {
  const cores = { ...size, dispatcher: 1 };
  return Object.fromEntries(PARTS.map((part) => [part, (cores[part] / costs[part]) * 1e6])) as Record<Part, number>;
}

/** The part with the lowest limit: more of the others does not help much. */
export function firstLimit(size: Size, costs: Costs): Part {
  const alone = limits(size, costs);
  return PARTS.reduce((least, part) => (alone[part] < alone[least] ? part : least));
}

/** @throws UsageError */
export function readCapacityOptions(args: string[]): { sizes: readonly Size[]; costs: Costs } {
  const { costs, ...cores } = parsed(args);
  const one = Object.fromEntries(Object.entries(cores).map(([part, text]) => [part, positive(`--${part}`, text)]));
  const own = (costs?.split(',') ?? []).map((pair) => {
    const [part = '', text = ''] = pair.split('=');
    if (!PARTS.includes(part as Part)) throw new UsageError(`--costs takes ${PARTS.join(', ')}, not "${part}".`);
    return [part, positive('--costs', text)];
  });
  const sizes = Object.keys(one).length === 0 ? SIZES : [{ worker: 1, redis: 1, postgres: 1, api: 1, ...one }];
  return { sizes, costs: { ...COSTS, ...Object.fromEntries(own) } };
}

function parsed(args: string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({ args, options: { worker: text, redis: text, postgres: text, api: text, costs: text } }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0) return value;
  throw new UsageError(`${option} takes a number above 0, not "${text}".`);
}

/** Three significant digits, as a model says no more. */
function thousands(n: number): string {
  return Number(n.toPrecision(3)).toLocaleString('en-US');
}

function duration(seconds: number): string {
  return seconds < 120 ? `${Number(seconds.toPrecision(2))} s` : `${Math.round(seconds / 60)} min`;
}

function main(): void {
  try {
    const { sizes, costs } = readCapacityOptions(process.argv.slice(2));
    console.log(`µs of processor time a user: ${PARTS.map((part) => `${part} ${costs[part]}`).join(', ')}`);
    console.log(`The table is computed, with p = ${EXPONENT}.\n\n${sizingTable(sizes, costs)}`);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

if (import.meta.main) main();

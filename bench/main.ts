/**
 * `npm run bench`: how fast the main job is, compared with the same work without Muster on the same machine in the same
 * run.
 *
 *   npm run bench -- [--json] [--only NAME,NAME] [--users N] [--size MB] [--workers N]
 *
 * Only results go to stdout.
 * Guarantee: everything that a run starts ends with it, also on Ctrl-C and when a bench fails.
 * Exit code 0: all benches ran or were reported as skipped; 1: one failed; 2: the arguments are wrong.
 */
import { type Context, type Result, Skipped } from './bench.ts';
import { accept } from './benches/accept.ts';
import { cost } from './benches/cost.ts';
import { drain } from './benches/drain.ts';
import { fair } from './benches/fair.ts';
import { flat } from './benches/flat.ts';
import { hashes } from './benches/hashes.ts';
import { largeDatabase } from './benches/large-database.ts';
import { latency } from './benches/latency.ts';
import { logins } from './benches/logins.ts';
import { mail } from './benches/mail.ts';
import { memory } from './benches/memory.ts';
import { million } from './benches/million.ts';
import { passwords } from './benches/passwords.ts';
import { PEERS, peers } from './benches/peers.ts';
import { servers } from './benches/servers.ts';
import { single } from './benches/single.ts';
import { status } from './benches/status.ts';
import { tracing } from './benches/tracing.ts';
import { undo } from './benches/undo.ts';
import { workers } from './benches/workers.ts';
import { wrongPasswords } from './benches/wrong-passwords.ts';
import { type Options, readOptions, runCommand } from './command.ts';
import { consoleLoad, consoleTab } from './console/browser.ts';
import { consolePages } from './console/pages.ts';
import { consoleRunning } from './console/running.ts';
import { consoleUpload } from './console/upload.ts';
import { describeRun } from './machine/machine.ts';
import type { Scope } from './scope.ts';

interface Bench {
  unit: string;
  /** Runs only where `--only` names it. */
  onlyNamed?: true;
  run(context: Context): Promise<Result[]>;
}

const BENCHES: Record<string, Bench> = {
  accept: { unit: 'users/s', run: accept },
  'drain-redis': { unit: 'users/s', run: (context) => drain('redis', context) },
  'drain-postgres': { unit: 'users/s', run: (context) => drain('postgres', context) },
  million: { unit: 's', run: million },
  cost: { unit: 'µs', run: cost },
  single: { unit: 'ms', run: single },
  fair: { unit: 's', run: fair },
  status: { unit: 'ms', run: status },
  memory: { unit: 'MB', run: memory },
  mail: { unit: 'mails/s', run: mail },
  passwords: { unit: 'hashes/s', run: passwords },
  logins: { unit: 'logins/s', run: logins },
  'wrong-passwords': { unit: 'ms', onlyNamed: true, run: wrongPasswords },
  undo: { unit: 'users/s', run: undo },
  workers: { unit: 'users/s', run: workers },
  latency: { unit: 'users/s', onlyNamed: true, run: latency },
  flat: { unit: 'users/s', onlyNamed: true, run: (context) => flat('embedded', context) },
  'flat-distribution': { unit: 'users/s', onlyNamed: true, run: (context) => flat('distribution', context) },
  'large-database': { unit: 'ms', onlyNamed: true, run: largeDatabase },
  servers: { unit: 'users/s', run: servers },
  ...Object.fromEntries(Object.keys(PEERS).map((name) => [name, peersBench(name)])),
  tracing: { unit: 'µs', onlyNamed: true, run: tracing },
  hashes: { unit: 'µs', onlyNamed: true, run: hashes },
  'console-load': { unit: 'KB', onlyNamed: true, run: consoleLoad },
  'console-upload': { unit: 'MB/s', onlyNamed: true, run: consoleUpload },
  'console-tab': { unit: 'MB', onlyNamed: true, run: consoleTab },
  'console-running': { unit: 'ms', onlyNamed: true, run: consoleRunning },
  'console-pages': { unit: '%', onlyNamed: true, run: consolePages },
};
/** Names of `--only` that stand for several benches. */
const GROUPS = {
  console: Object.keys(BENCHES).filter((name) => name.startsWith('console-')),
  peers: Object.keys(PEERS),
};

function peersBench(name: string): Bench {
  return { unit: 'users/s', onlyNamed: true, run: (context) => peers(name, context) };
}

async function runAll(scope: Scope, options: Options, isEnding: () => boolean): Promise<boolean> {
  const head = await describeRun();
  if (options.json) console.error(head);
  else console.log(`Muster bench | ${head}\n`);
  const rows: Row[] = [];
  for (const name of options.names) {
    const ran = await runOne(scope, name, options, isEnding);
    if (options.json) for (const row of ran) console.log(jsonLine(row));
    rows.push(...ran);
  }
  if (!options.json && !isEnding()) console.log(`\n${table(rows)}`);
  return !rows.some((row) => 'why' in row && row.failed);
}

async function runOne(
  scope: Scope,
  name: string,
  { users, size, workers }: Options,
  isEnding: () => boolean,
): Promise<Row[]> {
  const { unit, run } = BENCHES[name] as Bench;
  const say = (line: string) => console.error(line);
  try {
    return await scope.within((inner) => run({ scope: inner, users, size, workers, say }));
  } catch (error) {
    if (isEnding()) return [];
    const failed = !(error instanceof Skipped);
    const why = error instanceof Error ? error.message : String(error);
    say(failed ? `${name} failed: ${error instanceof Error ? error.stack : why}` : `${name} is skipped: ${why}.`);
    return [{ name, unit, why, failed }];
  }
}

/** A bench without figures, and the reason: the machine lacks something, or the bench failed. */
interface NotRun {
  name: string;
  unit: string;
  why: string;
  failed: boolean;
}

type Row = Result | NotRun;

/** One line of JSON for programs: `{name, value, unit, ceiling, ratio}` and extras; for a bench that did not run, the figures are null. */
function jsonLine(row: Row): string {
  if ('why' in row) {
    const { name, unit, why, failed } = row;
    const reason = failed ? { failed: why } : { skipped: why };
    return JSON.stringify({ name, value: null, unit, ceiling: null, ratio: null, ...reason });
  }
  const { name, value, unit, ceiling, ratio, extras } = row;
  return JSON.stringify({ name, value, unit, ceiling, ratio, ...extras });
}

const HEAD = ['bench', 'value', 'unit', 'ceiling', 'ratio', ''];
const NUMERIC = new Set([1, 3, 4]);

/** The table for people. */
function table(rows: Row[]): string {
  const cells = [HEAD, ...rows.flatMap(linesOf)];
  const widths = HEAD.map((_, i) => Math.max(...cells.map((row) => (row[i] as string).length)));
  const line = (row: string[]) =>
    row
      .map((cell, i) => (NUMERIC.has(i) ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join('  ')
      .trimEnd();
  return cells.map(line).join('\n');
}

/** A row's cells; further notes get their own lines. */
function linesOf(row: Row): string[][] {
  if ('why' in row) return [[row.name, '', row.unit, '', '', `${row.failed ? 'failed' : 'skipped'}: ${row.why}`]];
  const { name, value, unit, ceiling, ratio, notes } = row;
  const [first = '', ...rest] = notes;
  const figures = [name, grouped(value), unit, grouped(ceiling), ratio.toFixed(2), first];
  return [figures, ...rest.map((note) => ['', '', '', '', '', note])];
}

function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

await runCommand((scope, isEnding) => {
  const known = Object.keys(BENCHES);
  const usual = known.filter((name) => !BENCHES[name]?.onlyNamed);
  return runAll(scope, readOptions(process.argv.slice(2), known, usual, GROUPS), isEnding);
});

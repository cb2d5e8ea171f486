/**
 * `npm run soak`: whether memory, handles, connections or tables grow, or calls become slower, while a service runs at
 * the machine's limit.
 *
 *   npm run soak -- [--minutes N] [--streams N] [--users N] [--workers N] [--json]
 *
 * Only results go to stdout.
 * Guarantee: everything that a run starts ends with it, also on Ctrl-C and when it fails.
 * Exit code 0: nothing grows and no call failed; 1: something does, or the run failed; 2: the arguments are wrong.
 */
import { runCommand } from '../command.ts';
import { describeRun } from '../machine/machine.ts';
import type { Scope } from '../scope.ts';
import { callLines, rowsOf, soakTable } from './report.ts';
import { readSoakOptions, type SoakOptions, soak } from './soak.ts';

/** Returns whether nothing grows and nothing failed. */
async function run(scope: Scope, options: SoakOptions): Promise<boolean> {
  const head = await describeRun();
  const { samples, meters, usersPerSecond, messages } = await soak(scope, options, (line) => console.error(line));
  const rows = rowsOf(samples);
  const calls = Object.fromEntries(meters.map(({ name, done, failed }) => [name, { done, failed }]));
  if (options.json) {
    const { json: _, ...how } = options;
    console.log(JSON.stringify({ run: head, ...how, usersPerSecond, messages, calls, rows }));
  } else {
    console.log(`Muster soak | ${head}\n`);
    console.log(`${usersPerSecond} users/s, ${messages} messages of event streams\n${callLines(meters).join('\n')}\n`);
    console.log(soakTable(rows));
  }
  for (const line of callLines(meters.filter(({ failed }) => failed > 0))) console.error(line);
  return !rows.some(({ verdict }) => verdict === 'grows') && !meters.some(({ failed }) => failed > 0);
}

await runCommand((scope) => run(scope, readSoakOptions(process.argv.slice(2))));

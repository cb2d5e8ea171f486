/**
 * `npm run capacity`: what an installation of a given size reaches, and where it ends (docs/scaling.md).
 *
 *   npm run capacity                 the model and the simulation, from the measured points in bench/capacity/points.json
 *   npm run capacity -- --measure    measures the points again (about five minutes), and writes the file and the picture
 *
 * Guarantee: everything that a measurement starts ends with it, also on Ctrl-C and when it fails.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runCommand } from '../command.ts';
import { describeRun } from '../machine.ts';
import { UsageError } from '../options.ts';
import { chartOf } from './chart.ts';
import { measurePoints } from './measure.ts';
import { type Costs, fit, PARTS } from './model.ts';
import { costsOf, POINTS_FILE, type Points, readPoints } from './points.ts';
import { outcomeTable, pointsTable, SCENARIO, sizingTable } from './report.ts';
import { simulate } from './simulation/simulate.ts';

const CHART = new URL('../../docs/scaling-workers.svg', import.meta.url);

function print({ run, points }: Points): void {
  const costs = costsOf(points);
  const fitted = fit(points, costs);
  console.log(`${run}\nµs of processor time a user: ${listed(costs)}`);
  console.log(`p = ${fitted.p}; in these points a user costs ${fitted.factor.toFixed(2)} times as much\n`);
  const tables = [
    pointsTable(points, costs, fitted),
    sizingTable(costs, fitted.p),
    outcomeTable(simulate(SCENARIO, costs, fitted.p)),
  ];
  for (const table of tables) console.log(`${table.join('\n')}\n`);
}

function listed(costs: Costs): string {
  return PARTS.map((part) => `${part} ${costs[part]}`).join(', ');
}

function readArgs(): boolean {
  try {
    return parseArgs({ options: { measure: { type: 'boolean', default: false } } }).values.measure;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

await runCommand(async (scope) => {
  if (readArgs()) {
    const points = await measurePoints(scope, (line) => console.error(line));
    writeFileSync(POINTS_FILE, `${JSON.stringify({ run: await describeRun(), points }, null, 2)}\n`);
    const costs = costsOf(points);
    writeFileSync(CHART, chartOf(points, costs, fit(points, costs)));
  }
  print(readPoints());
  return true;
});

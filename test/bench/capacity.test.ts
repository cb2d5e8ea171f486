/** The capacity model and the simulation: their arithmetic, and that docs/scaling.md shows what they say. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { chartOf } from '../../bench/capacity/chart.ts';
import { type Costs, firstLimit, fit, limits, rate, type Size } from '../../bench/capacity/model.ts';
import { costsOf, readPoints } from '../../bench/capacity/points.ts';
import { outcomeTable, pointsTable, SCENARIO as SIMULATED, sizingTable } from '../../bench/capacity/report.ts';
import { simulate } from '../../bench/capacity/simulation/simulate.ts';
import type { Scenario } from '../../bench/capacity/simulation/state.ts';

const COSTS: Costs = { worker: 50, redis: 40, postgres: 30, api: 10, dispatcher: 8 };
const SIZE: Size = { worker: 4, shards: 2, postgres: 4, api: 1 };

test('a part alone reaches its cores divided by its cost, and the whole less than the lowest limit', () => {
  const alone = limits(SIZE, COSTS);
  assert.deepEqual(
    Object.values(alone).map(Math.round),
    [80_000, 50_000, 133_333, 100_000, 125_000],
    JSON.stringify(alone),
  );
  assert.equal(firstLimit(SIZE, COSTS), 'redis');
  assert.ok(rate(SIZE, COSTS, 2) < 50_000);
  assert.ok(rate({ ...SIZE, shards: 3 }, COSTS, 2) > rate(SIZE, COSTS, 2), 'one more shard helps');
});

test('the fit finds the exponent and the factor that made the points', () => {
  const points = [1, 2, 4, 8].map((worker) => {
    const size = { ...SIZE, worker };
    return { workers: worker, shards: 2, size, usersPerSecond: rate(size, COSTS, 2.5) / 3 };
  });
  const { p, factor } = fit(points, COSTS);
  assert.deepEqual([p, Math.round(factor * 100)], [2.5, 300]);
});

const SCENARIO: Scenario = {
  seed: 3,
  users: 400_000,
  orgs: 60,
  sentWithin: 2,
  size: { worker: 4, shards: 2, postgres: 4, api: 2 },
  churn: { meanLife: 20, startS: 2 },
  failover: { at: 4, downS: 2, lostS: 1 },
};

test('a simulation writes each user once, and its seed determines everything', () => {
  const first = simulate(SCENARIO, COSTS, 2);
  assert.equal(first.written, SCENARIO.users);
  assert.deepEqual(simulate(SCENARIO, COSTS, 2), first);
  assert.notDeepEqual(simulate({ ...SCENARIO, seed: 4 }, COSTS, 2), first);
  assert.ok(first.deaths > 0 && first.lostJobs > 0 && first.rescues > 0, JSON.stringify(first));
});

test('without faults it is faster, and rescues nothing', () => {
  const calm = { ...SCENARIO, churn: { meanLife: 1e9, startS: 0 }, failover: { at: 1e9, downS: 0, lostS: 0 } };
  const [faulty, quiet] = [simulate(SCENARIO, COSTS, 2), simulate(calm, COSTS, 2)];
  assert.ok(quiet.seconds < faulty.seconds);
  assert.deepEqual([quiet.deaths, quiet.lostJobs, quiet.rescues, quiet.repeated], [0, 0, 0, 0]);
});

test('docs/scaling.md shows what follows from the measured points', () => {
  const { points } = readPoints();
  const costs = costsOf(points);
  const fitted = fit(points, costs);
  const outcome = outcomeTable(simulate(SIMULATED, costs, fitted.p));
  const rows = [...sizingTable(costs, fitted.p), ...pointsTable(points, costs, fitted), ...outcome];
  const page = (name: string) => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  for (const row of rows) {
    assert.ok(page('scaling.md').includes(row), `docs/scaling.md lacks: ${row}`);
  }
  assert.equal(page('scaling-workers.svg'), chartOf(points, costs, fitted));
});

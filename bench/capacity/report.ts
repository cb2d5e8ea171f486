/** What the model says: the sizing table of docs/scaling.md, the points next to it, and the simulation. */
import type { Measured } from './measure.ts';
import { type Costs, type Fit, firstLimit, limits, rate, type Size } from './model.ts';
import type { Outcome, Scenario } from './simulation/state.ts';

/** Cores of workers, Redis servers, cores of PostgreSQL, cores of API processes. */
const SIZES: readonly Size[] = [
  { worker: 1, shards: 1, postgres: 1, api: 1 },
  { worker: 2, shards: 1, postgres: 2, api: 1 },
  { worker: 4, shards: 2, postgres: 4, api: 1 },
  { worker: 8, shards: 4, postgres: 8, api: 2 },
  { worker: 16, shards: 8, postgres: 16, api: 4 },
  { worker: 64, shards: 8, postgres: 32, api: 8 },
];

/** The scenario of docs/scaling.md. */
export const SCENARIO: Scenario = {
  seed: 1,
  users: 100_000_000,
  orgs: 2000,
  sentWithin: 300,
  size: { worker: 64, shards: 8, postgres: 32, api: 8 },
  churn: { meanLife: 3600, startS: 20 },
  failover: { at: 200, downS: 10, lostS: 1 },
};

const COLUMNS = [
  'Worker cores',
  'Redis servers',
  'PostgreSQL cores',
  'API cores',
  'Users/s',
  'A million users',
  'First limit',
];

export function sizingTable(costs: Costs, p: number): string[] {
  const rows = SIZES.map((size) => {
    const users = rate(size, costs, p);
    const first = firstLimit(size, costs);
    const alone = thousands(limits(size, costs)[first]);
    return [
      ...[size.worker, size.shards, size.postgres, size.api].map(String),
      thousands(users),
      duration(1e6 / users),
      `${first} (${alone} alone)`,
    ];
  });
  return markdown(COLUMNS, rows);
}

export function pointsTable(points: readonly Measured[], costs: Costs, { p, factor }: Fit): string[] {
  const rows = points.map(({ workers, shards, usersPerSecond, size, heldBack }) => {
    const expected = rate(size, costs, p) / factor;
    const most = Object.entries(heldBack).sort(([, a], [, b]) => b - a)[0] as [string, number];
    return [
      String(workers),
      String(shards),
      String(usersPerSecond),
      String(Math.round(expected)),
      (usersPerSecond / expected).toFixed(2),
      `${most[0]} ${Math.round(most[1] * 100)} %`,
    ];
  });
  return markdown(['Workers', 'Shards', 'Measured', 'Model', 'Ratio', 'Most held back'], rows);
}

export function outcomeTable(outcome: Outcome): string[] {
  const { seconds, usersPerSecond, backlog, redisMegabytes, refused, deaths, repeated, lostJobs, rescues } = outcome;
  return markdown(
    ['Figure', 'Value'],
    [
      ['time', duration(seconds)],
      ['users a second, on average', thousands(usersPerSecond)],
      ['largest backlog', `${(backlog / 1e6).toFixed(1)} million users`],
      ['most memory of a Redis server', `${Math.round(redisMegabytes)} MB`],
      ['uploads answered 429 and sent again', String(refused)],
      ['deaths of workers', String(deaths)],
      ['jobs processed again after a death', thousands(repeated)],
      ['jobs lost in the failover', thousands(lostJobs)],
      ['imports rescued', String(rescues)],
    ],
  );
}

function markdown(columns: readonly string[], rows: readonly string[][]): string[] {
  return [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}

/** Three significant digits, as a model says no more. */
function thousands(n: number): string {
  return Number(n.toPrecision(3)).toLocaleString('en-US');
}

function duration(seconds: number): string {
  if (seconds < 120) return `${Number(seconds.toPrecision(2))} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

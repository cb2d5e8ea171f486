/**
 * How many users a second an installation writes, from the processor time that a user costs in each part, and how many
 * cores each part has.
 *
 * A part alone reaches cores / cost. Together they reach less, because they wait for each other: the limits combine as
 * (Σ limit^-p)^(-1/p). The costs are those of the bench `cost`. `p` is fitted to runs with 1 to 8 workers and 1 to 4
 * shards (points.json), with one more number: how many times as much a user cost in these runs.
 */

export const PARTS = ['worker', 'redis', 'postgres', 'api', 'dispatcher'] as const;
export type Part = (typeof PARTS)[number];

/** Microseconds of processor time for each user. */
export type Costs = Record<Part, number>;

export interface Size {
  /** Cores of all worker processes that write users; a process uses a little more than one. */
  worker: number;
  /** Redis servers, or masters of a Cluster: each runs commands on one core. */
  shards: number;
  postgres: number;
  api: number;
  /** Share of a core that a Redis server and the dispatcher get; 1 unless they are held back. */
  redisShare?: number;
  dispatcherShare?: number;
}

/** Users a second that each part reaches alone. */
export function limits(size: Size, costs: Costs): Record<Part, number> {
  const cores: Record<Part, number> = {
    worker: size.worker,
    redis: size.shards * (size.redisShare ?? 1),
    postgres: size.postgres,
    api: size.api,
    // One process at a time fills the queue, on one core.
    dispatcher: size.dispatcherShare ?? 1,
  };
  return Object.fromEntries(PARTS.map((part) => [part, (cores[part] / costs[part]) * 1e6])) as Record<Part, number>;
}

/** Users a second of the whole. */
export function rate(size: Size, costs: Costs, p: number): number {
  const alone = Object.values(limits(size, costs));
  return alone.reduce((sum, limit) => sum + limit ** -p, 0) ** (-1 / p);
}

/** The part with the lowest limit: more of the others does not help much. */
export function firstLimit(size: Size, costs: Costs): Part {
  const alone = limits(size, costs);
  return PARTS.reduce((least, part) => (alone[part] < alone[least] ? part : least));
}

export interface Point {
  workers: number;
  shards: number;
  usersPerSecond: number;
  /** Cores that each part was allowed to use, or had. */
  size: Size;
}

export interface Fit {
  p: number;
  /** How many times as much a user costs in these runs as at full speed, in each part. */
  factor: number;
}

/** The fit with the smallest squared relative errors; `p` to a twentieth. */
export function fit(points: readonly Point[], costs: Costs): Fit {
  const candidates = Array.from({ length: 140 }, (_, n) => fitFactor(points, costs, 1 + n / 20));
  return candidates.reduce((best, one) => (one.error < best.error ? one : best));
}

function fitFactor(points: readonly Point[], costs: Costs, p: number): Fit & { error: number } {
  const logs = points.map(({ size, usersPerSecond }) => Math.log(rate(size, costs, p) / usersPerSecond));
  const mean = logs.reduce((a, b) => a + b, 0) / logs.length;
  return { p, factor: Math.exp(mean), error: logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) };
}

/**
 * Whether a figure grows, by the slope of all of its samples and not by two of them.
 *
 * The slope is that of Theil and Sen, the median of the slopes between any two points, over medians of a fifth of the
 * run: a figure may swing, such as the rows of a table that is swept once a minute, and single samples, such as those
 * taken during a garbage collection, have no effect.
 */
export interface Point {
  seconds: number;
  value: number;
}

/** What counts as growth: more than this share of the value at the start, and more than `least`. */
export interface Tolerance {
  share: number;
  least: number;
}

export interface Trend {
  /** Medians of the first and the last fifth. */
  start: number;
  end: number;
  /** The slope times the time between the first and the last sample. */
  growth: number;
  verdict: 'steady' | 'grows' | 'too short';
}

/** Fewer samples show no trend. */
const LEAST_POINTS = 20;

/** @param points at least one, in order of time */
export function trendOf(points: Point[], { share, least }: Tolerance): Trend {
  const fifth = Math.ceil(points.length / 5);
  const values = points.map(({ value }) => value);
  const [start, end] = [median(values.slice(0, fifth)), median(values.slice(-fifth))];
  const growth = slope(points) * ((points.at(-1) as Point).seconds - (points[0] as Point).seconds);
  const isGrowing = growth > Math.max(least, share * Math.abs(start));
  return { start, end, growth, verdict: points.length < LEAST_POINTS ? 'too short' : isGrowing ? 'grows' : 'steady' };
}

/** A second's growth; 0 for a single point. */
export function slope(points: Point[]): number {
  const smooth = smoothed(points);
  const slopes = smooth.flatMap((a, i) =>
    smooth.slice(i + 1).map((b) => (b.value - a.value) / Math.max(b.seconds - a.seconds, Number.EPSILON)),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}

/** The medians of each fifth of the run, one for each place where it can begin. */
function smoothed(points: Point[]): Point[] {
  const fifth = Math.ceil(points.length / 5);
  return points.slice(fifth - 1).map((_, i) => {
    const window = points.slice(i, i + fifth);
    return { seconds: median(window.map((p) => p.seconds)), value: median(window.map((p) => p.value)) };
  });
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}

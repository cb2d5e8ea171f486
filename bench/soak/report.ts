/**
 * The rows of the result: each figure after the warm-up and at the end, and whether it grows.
 *
 * A figure grows by the slope of all of its samples, not by two of them. The slope is that of Theil and Sen, the median
 * of the slopes between any two points, over medians of a fifth of the run: a figure may swing, such as the rows of a
 * table that is swept once a minute, and single samples, such as those taken during a garbage collection, have no
 * effect.
 */
import { rounded } from '../bench.ts';
import type { Figures } from './figures.ts';
import type { Meter } from './load.ts';

export interface Sampled {
  seconds: number;
  figures: Figures;
}

interface SoakRow extends Omit<Trend, 'verdict'> {
  name: string;
  unit: string;
  verdict: Trend['verdict'] | 'grows with the imported users' | 'not judged';
}

interface Kind {
  unit: string;
  tolerance?: Tolerance;
}

/** By the first word of a figure's name. */
const KINDS: Record<string, Kind> = {
  memory: { unit: 'MB', tolerance: { share: 0.1, least: 20 } },
  heap: { unit: 'MB', tolerance: { share: 0.25, least: 20 } },
  handles: { unit: '', tolerance: { share: 0.05, least: 20 } },
  connections: { unit: '', tolerance: { share: 0.1, least: 3 } },
  rows: { unit: 'rows', tolerance: { share: 0.25, least: 2000 } },
  size: { unit: 'MB' },
  p50: { unit: 'ms', tolerance: { share: 0.5, least: 20 } },
  p99: { unit: 'ms', tolerance: { share: 1, least: 200 } },
  open: { unit: '' },
};
/** PostgreSQL keeps up to a thousand files of tables open in each connection; its connections are judged. */
const NOT_JUDGED = ['handles postgres'];
/** Kept for good, as they are the data itself. */
const DATA = ['rows users', 'rows events'];

/** One row per figure that is not 0 throughout. */
export function rowsOf(samples: Sampled[]): SoakRow[] {
  const names = [...new Set(samples.flatMap(({ figures }) => Object.keys(figures)))];
  return names.flatMap((name) => {
    const points = samples
      .map(({ seconds, figures }) => ({ seconds, value: figures[name] ?? Number.NaN }))
      .filter(({ value }) => !Number.isNaN(value));
    return points.some(({ value }) => value !== 0) ? [rowOf(name, points)] : [];
  });
}

function rowOf(name: string, points: { seconds: number; value: number }[]): SoakRow {
  const { unit, tolerance } = KINDS[name.split(' ')[0] as string] as Kind;
  const trend = trendOf(points, tolerance ?? { share: 0, least: 0 });
  const isJudged = tolerance && !NOT_JUDGED.includes(name);
  const verdict = DATA.includes(name) ? 'grows with the imported users' : isJudged ? trend.verdict : 'not judged';
  const at = (value: number) => rounded(value, 1);
  return { name, unit, start: at(trend.start), end: at(trend.end), growth: at(trend.growth), verdict };
}

/** One line for the calls of each kind. */
export function callLines(meters: Meter[]): string[] {
  return meters.map(({ name, done, failed, failures }) => {
    const reasons = [...failures].map(([why, times]) => `${times} times ${why}`).join('; ');
    return `${name}: ${done}${failed > 0 ? `, ${failed} failed: ${reasons}` : ''}`;
  });
}

/** A table with fewer rows, or megabytes, at the end stays small. */
const SMALL: Record<string, number> = { rows: 100, size: 1 };
const HEAD = ['figure', 'unit', 'start', 'end', 'growth', 'verdict'];

/** Without the tables that stay small. */
export function soakTable(rows: SoakRow[]): string {
  const shown = rows.filter(({ name, end }) => end >= (SMALL[name.split(' ')[0] as string] ?? 0));
  const cells = [HEAD, ...shown.map((r) => [r.name, r.unit, text(r.start), text(r.end), text(r.growth), r.verdict])];
  const widths = HEAD.map((_, i) => Math.max(...cells.map((row) => (row[i] as string).length)));
  const isNumber = (i: number) => i >= 2 && i <= 4;
  const line = (row: string[]) =>
    row
      .map((cell, i) => (isNumber(i) ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join('  ')
      .trimEnd();
  return cells.map(line).join('\n');
}

function text(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

/**
 * Whether a figure grows, by the slope of all of its samples and not by two of them.
 *
 * The slope is that of Theil and Sen, the median of the slopes between any two points, over medians of a fifth of the
 * run: a figure may swing, such as the rows of a table that is swept once a minute, and single samples, such as those
 * taken during a garbage collection, have no effect.
 */
interface Point {
  seconds: number;
  value: number;
}

/** What counts as growth: more than this share of the value at the start, and more than `least`. */
interface Tolerance {
  share: number;
  least: number;
}

interface Trend {
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

/** The speed of an import over time, with the times in which it stood still and the deadline. */
import type { RatePoint } from '../../contract/import-types.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { clock, clockTime, count, numbers, table, time } from '../shell/blocks.ts';
import type { LiveState } from '../shell/live.ts';
import { ONE } from '../texts/import.ts';

const WIDTH = 600;
const HEIGHT = 120;
/** The table for screen readers shows every point of a short import, and evenly chosen ones of a long one. */
const TABLE_ROWS = 30;

/**
 * The speed of an import over time as a drawing of the server, which needs no script; with a table for screen readers.
 * Live updates replace its points. `browser/rate-chart.ts` says the values below the pointer.
 * @param deadline empty: none is shown
 */
export function chart(points: readonly RatePoint[], deadline: string): Html {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return html`<p class="soft">${ONE.noChart}</p>`;
  const { line, area, gaps, limit, max } = draw(points, deadline);
  const label = ONE.chartLabel(count(max), clock(first.at), clock(last.at));
  return html`<rate-chart class="chart" value="${ONE.chartValue}">
<div class="scale small soft" aria-hidden="true"><span data-text="chart.max">${count(max)}</span><span data-text="chart.half">${count(max / 2)}</span><span>0</span></div>
<svg role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
<polygon class="gaps" data-points="chart.gaps" points="${gaps}"/>
<path class="grid" d="M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}"/>
<polygon data-points="chart.area" points="${area}"/><polyline data-points="chart.line" points="${line}"/>
<polyline class="limit" data-points="chart.limit" points="${limit}"/><path class="pointer"/></svg>
<div class="times small soft" aria-hidden="true"><span>${clockTime(first.at)}</span><span class="chart-value"></span><span>${clockTime(last.at, 'chart.end')}</span></div>
<span data-text="chart.values" hidden>${valuesOf(points, deadline)}</span>
</rate-chart>
<p class="soft small key">${gaps === '' ? undefined : html`<span class="of-gaps">${ONE.gaps}</span>`}${deadline && html`<span${limit === '' ? undefined : html` class="of-limit"`}>${ONE.deadline} ${time(deadline)}</span>`}</p>
<details><summary>${ONE.chartTable}</summary>${pointTable(points)}</details>`;
}

/** What changes of the chart while the import runs. */
export function chartState(
  points: readonly RatePoint[],
  deadline: string,
): Required<Pick<LiveState, 'text' | 'points' | 'times'>> {
  const { line, area, gaps, limit, max } = draw(points, deadline);
  const end = points.at(-1)?.at;
  return {
    text: {
      'chart.max': count(max),
      'chart.half': count(max / 2),
      'chart.values': valuesOf(points, deadline),
    },
    points: { 'chart.line': line, 'chart.area': area, 'chart.gaps': gaps, 'chart.limit': limit },
    times: end ? { 'chart.end': end } : {},
  };
}

function pointTable(given: readonly RatePoint[]): Html {
  const points = evened(given);
  const every = Math.ceil(points.length / TABLE_ROWS);
  const shown = points.filter((_, i) => i % every === 0 || i === points.length - 1);
  const rows = shown.map(
    (
      p,
    ) => html`<tr><td data-label="${ONE.time}">${clockTime(p.at)}</td><td class="number" data-label="${ONE.chart}">${count(rateOf(p))}</td>
<td class="number" data-label="${ONE.users}">${count(p.succeeded + p.skipped + p.failed)}</td><td class="number" data-label="${ONE.failed}">${count(p.failed)}</td></tr>`,
  );
  return table(ONE.chart, [ONE.time, numbers(ONE.chart), numbers(ONE.users), numbers(ONE.failed)], rows);
}

/** The speed as it is read: decimals say something of a slow import only. */
function rateOf({ usersPerSecond: rate }: RatePoint): number {
  return rate < 10 ? rate : Math.round(rate);
}

interface Drawing {
  line: string;
  area: string;
  /** The times in which the import stood still. */
  gaps: string;
  /** The deadline, if it is near enough to be drawn. */
  limit: string;
  max: number;
}

/** Where the last interval is shorter than this share of the one before it, their users are counted together. */
const SHORT = 0.5;

/**
 * The points with the last interval, which ends now or with the import, as a part of the one before it if it is short: a
 * batch that ends in it would be a peak that the import never had.
 */
function evened(points: readonly RatePoint[]): readonly RatePoint[] {
  const [before, last] = points.slice(-2);
  if (!before || !last || last.seconds >= before.seconds * SHORT || isAfterGap(before, last)) return points;
  const seconds = before.seconds + last.seconds;
  const succeeded = before.succeeded + last.succeeded;
  const skipped = before.skipped + last.skipped;
  const failed = before.failed + last.failed;
  const usersPerSecond = Math.round(((succeeded + skipped + failed) / seconds) * 10) / 10;
  return [...points.slice(0, -2), { at: last.at, seconds, succeeded, skipped, failed, usersPerSecond }];
}

/** When the interval of a point begins, in ms: the import ran in it without a break. */
function beginOf({ at, seconds }: RatePoint): number {
  return Date.parse(at) - seconds * 1000;
}

/** Whether the import did not run between two points: paused, or ended and started again. Times are rounded. */
function isAfterGap(before: RatePoint, point: RatePoint): boolean {
  return beginOf(point) - Date.parse(before.at) > 1000;
}

/** A deadline that is farther away than this share of the drawn time would leave no room for the line. */
const NEAR = 0.25;

/** When the drawing begins, and how long it is, in ms: to the last point, or to a deadline that is near. */
function axisOf(points: readonly RatePoint[], deadline: string): { begin: number; total: number; hasLimit: boolean } {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return { begin: 0, total: 1, hasLimit: false };
  const begin = beginOf(first);
  const drawn = Date.parse(last.at) - begin || 1;
  const toLimit = Date.parse(deadline) - begin;
  const hasLimit = toLimit > 0 && toLimit <= drawn * (1 + NEAR);
  return { begin, total: hasLimit ? Math.max(drawn, toLimit) : drawn, hasLimit };
}

/** Points of the line and the area, over the time since the import began; nobody was imported while it stood still. */
function draw(given: readonly RatePoint[], deadline: string): Drawing {
  const points = evened(given);
  const max = niceMax(Math.max(0, ...points.map((p) => p.usersPerSecond)));
  const { begin, total, hasLimit } = axisOf(points, deadline);
  const x = (ms: number) => round(((ms - begin) / total) * WIDTH);
  const spot = (ms: number, rate: number) => `${x(ms)},${round(HEIGHT - (rate / max) * HEIGHT)}`;
  const gaps: string[] = [];
  const line = points.flatMap((point, i) => {
    const before = points[i - 1];
    const rate = point.usersPerSecond;
    const end = spot(Date.parse(point.at), rate);
    if (!before) return [spot(begin, rate), end];
    if (!isAfterGap(before, point)) return [end];
    const [from, to] = [Date.parse(before.at), beginOf(point)];
    gaps.push(spot(from, 0), spot(from, max), spot(to, max), spot(to, 0));
    return [spot(from, 0), spot(to, 0), spot(to, rate), end];
  });
  const all = line.length > 0 ? line : [`0,${HEIGHT}`];
  const last = points.at(-1);
  const right = last ? x(Date.parse(last.at)) : WIDTH;
  const limit = hasLimit ? `${x(Date.parse(deadline))},0 ${x(Date.parse(deadline))},${HEIGHT}` : '';
  return {
    line: all.join(' '),
    area: `0,${HEIGHT} ${all.join(' ')} ${right},${HEIGHT}`,
    gaps: gaps.join(' '),
    limit,
    max,
  };
}

/**
 * For `browser/rate-chart.ts`: when the drawing begins and ends in ms, and of each interval the end and the length in ms,
 * the users per second, all users, and those that failed.
 */
function valuesOf(given: readonly RatePoint[], deadline: string): string {
  const points = evened(given);
  const { begin, total } = axisOf(points, deadline);
  const rows = points.map((point) => {
    const { at, seconds, succeeded, skipped, failed } = point;
    return [Date.parse(at), Math.round(seconds * 1000), rateOf(point), succeeded + skipped + failed, failed].join();
  });
  return [`${begin},${begin + total}`, ...rows].join(' ');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** 1, 2 or 5 times a power of ten. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

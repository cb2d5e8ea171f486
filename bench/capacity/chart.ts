/** Draws measured points next to the model's curves: one self-contained SVG, for light and dark pages. */
import type { Measured } from './measure.ts';
import { type Costs, type Fit, rate } from './model.ts';

const TITLE = 'Users a second, each worker and each Redis with a slice of a core';
const [WIDTH, HEIGHT] = [720, 420];
const BOX = { left: 70, right: 700, top: 50, bottom: 360 };
const COLORS = ['#3b82c4', '#2f9e62', '#c2703d', '#8d5bb5'];
const STYLE = `text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 15px; font-weight: 600 }
.page { fill: #ffffff } .grid { stroke: #d0d7de } .curve { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } }`;

/** Users a second by workers, a curve and points for each number of shards. */
export function chartOf(points: readonly Measured[], costs: Costs, { p, factor }: Fit): string {
  const most = Math.max(...points.map(({ workers }) => workers));
  const highest =
    1.1 * Math.max(...points.map((point) => Math.max(point.usersPerSecond, rate(point.size, costs, p) / factor)));
  const x = (workers: number) => BOX.left + (workers / most) * (BOX.right - BOX.left);
  const y = (users: number) => BOX.bottom - (users / highest) * (BOX.bottom - BOX.top);
  const byShards = [...Map.groupBy(points, ({ shards }) => shards)];
  const series = byShards.map(([shards, own], i) => {
    const color = COLORS[i % COLORS.length];
    const [one] = own as [Measured, ...Measured[]];
    const slice = one.size.worker / one.workers;
    const curve = Array.from({ length: 50 }, (_, n) => ((n + 1) / 50) * most)
      .map((n) => `${round(x(n))},${round(y(rate({ ...one.size, worker: n * slice }, costs, p) / factor))}`)
      .join(' ');
    const dots = own.map(
      (at) => `<circle cx="${round(x(at.workers))}" cy="${round(y(at.usersPerSecond))}" r="4.5" fill="${color}"/>`,
    );
    const label = `<text x="${BOX.left + 12}" y="${BOX.top + 18 + 18 * i}" style="fill:${color}">${shards} ${shards === 1 ? 'shard' : 'shards'}</text>`;
    return `<polyline class="curve" stroke="${color}" points="${curve}"/>${dots.join('')}${label}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${TITLE}">
<style>${STYLE}</style><rect class="page" width="${WIDTH}" height="${HEIGHT}"/>
<text class="title" x="${BOX.left}" y="26">${TITLE}</text>
${axes(most, highest, x, y)}
${series.join('\n')}
</svg>
`;
}

function axes(most: number, highest: number, x: (n: number) => number, y: (n: number) => number): string {
  const step = stepOf(highest);
  const rows = Array.from({ length: Math.floor(highest / step) + 1 }, (_, n) => n * step).map(
    (value) => `<line class="grid" x1="${BOX.left}" x2="${BOX.right}" y1="${round(y(value))}" y2="${round(y(value))}"/>
<text x="${BOX.left - 8}" y="${round(y(value)) + 4}" text-anchor="end">${value.toLocaleString('en-US')}</text>`,
  );
  const columns = Array.from({ length: most }, (_, n) => n + 1).map(
    (n) => `<text x="${round(x(n))}" y="${BOX.bottom + 18}" text-anchor="middle">${n}</text>`,
  );
  const names = `<text x="${(BOX.left + BOX.right) / 2}" y="${BOX.bottom + 42}" text-anchor="middle">workers; points: measured, lines: model; users a second</text>`;
  return [...rows, ...columns, names].join('\n');
}

/** 1, 2 or 5 times a power of ten, for about six lines. */
function stepOf(highest: number): number {
  const rough = highest / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((n) => n * power >= rough) as number) * power;
}

function round(n: number): number {
  return Math.round(n * 10) / 10;
}

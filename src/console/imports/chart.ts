/**
 * The speed of an import over time as a drawing of the server, which needs no script; with a table for screen readers.
 * Live updates replace its points.
 */
import { type Html, html } from '../../html.ts';
import { clock, count } from '../page/format.ts';
import { ONE } from '../texts/import.ts';
import type { RatePoint } from './shapes.ts';

const WIDTH = 600;
const HEIGHT = 120;
/** The table shows every point of a short import, and evenly chosen ones of a long one. */
const TABLE_ROWS = 30;

export interface Drawing {
  line: string;
  area: string;
  max: number;
}

/** Points of the line and the area, over the time in which the import ran. */
export function draw(points: readonly RatePoint[]): Drawing {
  const max = niceMax(Math.max(0, ...points.map((p) => p.usersPerSecond)));
  const total = points.reduce((sum, p) => sum + p.seconds, 0) || 1;
  let at = 0;
  const line = points.map(({ seconds, usersPerSecond }) => {
    at += seconds;
    return `${round((at / total) * WIDTH)},${round(HEIGHT - (usersPerSecond / max) * HEIGHT)}`;
  });
  const first = line[0]?.split(',')[1] ?? String(HEIGHT);
  const all = [`0,${first}`, ...line];
  return { line: all.join(' '), area: `0,${HEIGHT} ${all.join(' ')} ${WIDTH},${HEIGHT}`, max };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** 1, 2 or 5 times a power of ten. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

export function chart(points: readonly RatePoint[]): Html {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return html`<p class="soft">${ONE.noChart}</p>`;
  const { line, area, max } = draw(points);
  const label = ONE.chartLabel(count(max), clock(first.at), clock(last.at));
  return html`<div class="chart">
<div class="scale small soft" aria-hidden="true"><span data-text="chart.max">${count(max)}</span><span data-text="chart.half">${count(max / 2)}</span><span>0</span></div>
<svg role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
<path class="grid" d="M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}"/>
<polygon data-points="chart.area" points="${area}"/><polyline data-points="chart.line" points="${line}"/></svg>
<div class="times small soft" aria-hidden="true"><span>${clock(first.at)}</span><span data-text="chart.end">${clock(last.at)} UTC</span></div>
</div>
<details><summary>${ONE.chartTable}</summary><div class="scroll" tabindex="0" role="region" aria-label="${ONE.chart}">${table(points)}</div></details>`;
}

function table(points: readonly RatePoint[]): Html {
  const every = Math.ceil(points.length / TABLE_ROWS);
  const shown = points.filter((_, i) => i % every === 0 || i === points.length - 1);
  return html`<table><thead><tr><th scope="col">${ONE.time}</th><th scope="col" class="number">${ONE.chart}</th>
<th scope="col" class="number">${ONE.users}</th><th scope="col" class="number">${ONE.failed}</th></tr></thead><tbody>
${shown.map(
  (p) => html`<tr><td>${clock(p.at)}</td><td class="number">${count(p.usersPerSecond)}</td>
<td class="number">${count(p.succeeded + p.skipped + p.failed)}</td><td class="number">${count(p.failed)}</td></tr>`,
)}</tbody></table>`;
}

/**
 * Draws a flame graph of a CPU profile: one self-contained SVG, coloured by step, for light and dark pages.
 *
 *   node bench/measure/flame.ts cost-worker.cpuprofile bench/results/worker.svg "One worker, 100,000 users"
 *
 * A box is a function on top of its caller, as wide as its share of the main thread's working time. Boxes narrower than
 * 0.3 % are left out, with everything that they call. Point at a box to see its name and place.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { type Call, type CpuProfile, callTree } from './profile.ts';
import { IDLE, OTHER, STEP_NAMES, stepOf, stepShares } from './steps.ts';

const WIDTH = 1200;
const MARGIN = 10;
const ROW = 17;
const LEAST = 0.003;
/** Approximate width of a letter, in pixels. */
const LETTER = 6.4;
/** Readable under dark letters, on white and on black; a step has the same colour in every graph. */
const COLORS = `#b9bec5 #9aa3ad #f5b26b #d9cf6a #7db8f2 #7fd0d6 #8fd3a5 #b5cc7a #e8a58a #e99ab8
  #ffd79a #d8b48a #c3d9f7 #f2c6d8 #a8b7c7 #c3b1f0 #9fb8e8 #d5d9de`.split(/\s+/);
const STYLE = `
text { font: 11px ui-monospace, Menlo, Consolas, monospace; fill: #16191d; pointer-events: none }
.page { fill: #ffffff } .head { fill: #1f2328; font: 13px system-ui, sans-serif } .head.title { font-size: 16px; font-weight: 600 }
rect:not(.page):hover { opacity: .75 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117 } .head { fill: #e6edf3 } }`;

/** A function as drawn: all calls of one function by the same caller. */
export interface Box {
  name: string;
  place: string;
  step: string;
  /** Shares of the whole width. */
  left: number;
  width: number;
  /** Number of callers below it. */
  depth: number;
}

interface Fold extends Pick<Box, 'name' | 'place' | 'step'> {
  total: number;
  callees: Map<string, Fold>;
}

/** Adds the call to its caller's callees; returns its time, callees included. */
function fold(caller: Fold, call: Call): number {
  const { functionName, url, lineNumber } = call.frame;
  if (functionName === IDLE) return 0;
  const name = functionName || '(anonymous)';
  const place = url === '' ? '' : `${url.replace(/^.*?\/(?=node_modules\/|src\/|workers\/)/, '')}:${lineNumber + 1}`;
  const key = `${name} ${place}`;
  const known = caller.callees.get(key);
  const me = known ?? { name, place, step: stepOf(call.frame, caller.step), total: 0, callees: new Map() };
  if (!known) caller.callees.set(key, me);
  let total = call.self;
  for (const callee of call.callees) total += fold(me, callee);
  me.total += total;
  return total;
}

/** The boxes of a tree of calls, callers before their callees, the widest callee leftmost. */
export function boxesOf(root: Call): Box[] {
  const top: Fold = { name: '', place: '', step: OTHER, total: 0, callees: new Map() };
  const whole = root.callees.reduce((sum, call) => sum + fold(top, call), 0);
  const boxes: Box[] = [];
  const place = ({ callees }: Fold, from: number, depth: number): void => {
    let left = from;
    for (const callee of [...callees.values()].sort((a, b) => b.total - a.total)) {
      const width = callee.total / whole;
      if (width < LEAST) return;
      boxes.push({ name: callee.name, place: callee.place, step: callee.step, left, width, depth });
      place(callee, left, depth + 1);
      left += width;
    }
  };
  place(top, 0, 0);
  return boxes;
}

export function flameGraph(profile: CpuProfile, title: string): string {
  const root = callTree(profile);
  const boxes = boxesOf(root);
  const steps = [...stepShares([root])].filter(([, share]) => share >= LEAST);
  const head = 34 + 20 * Math.ceil(steps.length / 5);
  const height = head + ROW * (Math.max(...boxes.map((box) => box.depth)) + 1) + MARGIN;
  const legend = steps.map(([step, share], i) => legendOf(step, share, i));
  const drawn = boxes.map((box) => drawnBox(box, height - MARGIN - ROW * (box.depth + 1)));
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}">`;
  const page = `<rect class="page" width="${WIDTH}" height="${height}"/><text class="head title" x="${MARGIN}" y="24">${escaped(title)}</text>`;
  return [open, `<style>${STYLE}</style>`, page, ...legend, ...drawn, '</svg>', ''].join('\n');
}

const colorOf = (step: string) => COLORS[STEP_NAMES.indexOf(step)] as string;

function legendOf(step: string, share: number, i: number): string {
  const [x, y] = [MARGIN + (i % 5) * 237, 48 + 20 * Math.floor(i / 5)];
  const text = `<text class="head" x="${x + 18}" y="${y}">${escaped(step)} ${(100 * share).toFixed(1)} %</text>`;
  return `<rect x="${x}" y="${y - 11}" width="12" height="12" fill="${colorOf(step)}"/>${text}`;
}

function drawnBox({ name, place, step, left, width }: Box, y: number): string {
  const pixels = width * (WIDTH - 2 * MARGIN);
  const x = (MARGIN + left * (WIDTH - 2 * MARGIN)).toFixed(1);
  const letters = Math.floor((pixels - 4) / LETTER);
  const shown = name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;
  const text = letters < 3 ? '' : `<text x="${(Number(x) + 3).toFixed(1)}" y="${y + 12}">${escaped(shown)}</text>`;
  const said = `<title>${escaped(`${name} ${place} ${(100 * width).toFixed(1)} %`)}</title>`;
  return `<g>${said}<rect x="${x}" y="${y}" width="${Math.max(0.3, pixels - 0.5).toFixed(1)}" height="16" rx="1" fill="${colorOf(step)}"/>${text}</g>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

if (import.meta.main) {
  const [, , from, to, title = 'CPU profile'] = argv as [string, string, string, string, string?];
  writeFileSync(to, flameGraph(JSON.parse(readFileSync(from, 'utf8')) as CpuProfile, title));
}

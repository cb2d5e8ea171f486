/** The two forms of results: a table for people, and one line of JSON per result for programs. */
import type { Result } from './bench.ts';

/** A bench without figures, and the reason: the machine lacks something, or the bench failed. */
export interface NotRun {
  name: string;
  unit: string;
  why: string;
  failed: boolean;
}

export type Row = Result | NotRun;

/** `{name, value, unit, ceiling, ratio}` and extras; for a bench that did not run, the figures are null. */
export function jsonLine(row: Row): string {
  if ('why' in row) {
    const { name, unit, why, failed } = row;
    const reason = failed ? { failed: why } : { skipped: why };
    return JSON.stringify({ name, value: null, unit, ceiling: null, ratio: null, ...reason });
  }
  const { name, value, unit, ceiling, ratio, extras } = row;
  return JSON.stringify({ name, value, unit, ceiling, ratio, ...extras });
}

const HEAD = ['bench', 'value', 'unit', 'ceiling', 'ratio', ''];
const NUMERIC = new Set([1, 3, 4]);

export function table(rows: Row[]): string {
  const cells = [HEAD, ...rows.flatMap(linesOf)];
  const widths = HEAD.map((_, i) => Math.max(...cells.map((row) => (row[i] as string).length)));
  const line = (row: string[]) =>
    row
      .map((cell, i) => (NUMERIC.has(i) ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join('  ')
      .trimEnd();
  return cells.map(line).join('\n');
}

/** A row's cells; further notes get their own lines. */
function linesOf(row: Row): string[][] {
  if ('why' in row) return [[row.name, '', row.unit, '', '', `${row.failed ? 'failed' : 'skipped'}: ${row.why}`]];
  const { name, value, unit, ceiling, ratio, notes } = row;
  const [first = '', ...rest] = notes;
  const figures = [name, grouped(value), unit, grouped(ceiling), ratio.toFixed(2), first];
  return [figures, ...rest.map((note) => ['', '', '', '', '', note])];
}

function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

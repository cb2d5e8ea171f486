/**
 * What commands print: results on standard output, progress and notes on standard error, so that a pipe gets only the
 * result.
 *
 * Guarantee: text from other people cannot move a terminal's cursor or reverse its direction; JSON escapes such text.
 */
import type { Shell } from './shell.ts';
import { padded, width } from './width.ts';

export interface Output {
  /** Whether the caller asked for JSON. */
  readonly json: boolean;
  /** A line of the result, for people; nothing with `--json`. */
  line(text?: string): void;
  /** The result for machines: one JSON text; nothing without `--json`. */
  result(value: unknown): void;
  /** A note on standard error; with `--json` too. */
  note(text: string): void;
  /** A table for people. @param rows one text for each column */
  table(columns: readonly string[], rows: readonly (readonly string[])[]): void;
  /** Where streamed results go. */
  readonly stream: NodeJS.WriteStream;
  /** Where progress and questions go. */
  readonly screen: NodeJS.WriteStream;
  /** Whether `screen` is a terminal. */
  readonly live: boolean;
  /** Where answers come from. */
  readonly input: NodeJS.ReadStream;
}

export function openOutput(json: boolean, shell: Pick<Shell, 'stdin' | 'stdout' | 'stderr'>): Output {
  const { stdout, stderr } = shell;
  const line = (text = '') => {
    if (!json) stdout.write(`${printableLines(text)}\n`);
  };
  return {
    json,
    line,
    result(value) {
      if (json) stdout.write(`${jsonText(value)}\n`);
    },
    note: (text) => void stderr.write(`${printableLines(text)}\n`),
    table(columns, rows) {
      for (const text of tableLines(columns, rows)) line(text);
    },
    stream: stdout,
    screen: stderr,
    live: stderr.isTTY === true,
    get input() {
      return shell.stdin;
    },
  };
}

/** Pads every column but the last to its longest cell. */
export function tableLines(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [columns, ...rows].map((row) => row.map(printable));
  const widths = columns.map((_, i) => all.reduce((most, row) => Math.max(most, width(row[i] ?? '')), 0));
  const isLast = (i: number) => i === columns.length - 1;
  return all.map((row) =>
    row
      .map((cell, i) => (isLast(i) ? cell : padded(cell, widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Control characters, and those that end a line or change its direction (Unicode Standard Annex 9). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to match
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Names come from other people: characters that would move a terminal's cursor are replaced. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON on one line that is safe on any terminal; it parses back to the same value. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

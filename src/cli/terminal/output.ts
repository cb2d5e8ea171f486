/**
 * What commands print: results on standard output, progress and notes on standard error, so that a pipe gets only the
 * result.
 *
 * Guarantee: text from other people cannot move a terminal's cursor or reverse its direction; JSON escapes such text.
 */
import { SingleBar } from 'cli-progress';
import type { Shell } from './completion.ts';

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

const PLAIN = /^[\x20-\x7e]*$/;
const WIDE =
  /^[[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]--[\uff61-\uffdc]]/v;
const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * How many columns a text takes on a terminal: a letter with its accents takes one, ideographs and emoji take two
 * (Unicode Standard Annex 11).
 */
export function width(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return Array.from(letters.segment(text), ({ segment }): number => (WIDE.test(segment) ? 2 : 1)).reduce(
    (sum, columns) => sum + columns,
    0,
  );
}

/** The text, padded with spaces to this many columns. */
function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** Control characters, and characters that end a line or change its direction (Unicode Standard Annex 9). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to match
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Names come from other people: characters that would move a terminal's cursor are replaced. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** Text of several lines, printable as `printable` makes one. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** JSON on one line that is safe on any terminal; it parses back to the same value. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(UNPRINTABLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export interface Step {
  done: number;
  total: number;
  /** Whether these are bytes; else they are counted. */
  isBytes?: boolean;
  /** Shown after the numbers: `users  3,100/s  12 s left`. */
  text: string;
}

export interface Display {
  update(step: Step): void;
  /** Prints a line between updates. */
  note(text: string): void;
  /** Leaves the last state on screen. Always call it, as it restores the terminal. */
  stop(): void;
}

const LINE_EVERY_MS = 1000;

/** Where the terminal does not say how wide it is. */
const USUAL_COLUMNS = 80;
const [SMALLEST_BAR, LARGEST_BAR] = [8, 40];
/** Percentage, numbers and text take about so many columns; on a narrower terminal the text is left out. */
const TEXT_FROM = 70;

/** Progress for people: a live bar on a terminal, elsewhere at most one plain line a second. */
export function openDisplay(out: Output): Display {
  if (out.json) return { update: () => {}, note: () => {}, stop: () => {} };
  return out.live ? bar(out) : lines(out);
}

function bar(out: Output): Display {
  const columns = out.screen.columns || USUAL_COLUMNS;
  const isNarrow = columns < TEXT_FROM;
  const single = new SingleBar({
    format: `  {bar} {percentage}%  {amount}${isNarrow ? '' : ' {text}'}`,
    barsize: Math.max(SMALLEST_BAR, Math.min(LARGEST_BAR, columns - TEXT_FROM)),
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    stream: out.screen,
  });
  let isShown = false;
  const stop = () => {
    single.stop();
    isShown = false;
  };
  return {
    update(step) {
      const { done, total, text } = step;
      const shown = { text, amount: amountOf(step) };
      if (!isShown) single.start(total, done, shown);
      isShown = true;
      single.setTotal(total);
      single.update(done, shown);
    },
    note(text) {
      stop();
      out.note(text);
    },
    stop,
  };
}

function lines(out: Output): Display {
  let printedAt = 0;
  let waiting: Step | undefined;
  const print = (step: Step) => {
    printedAt = Date.now();
    waiting = undefined;
    out.note(`  ${amountOf(step)} ${step.text}`.trimEnd());
  };
  const flush = () => {
    if (waiting) print(waiting);
  };
  return {
    update(step) {
      waiting = step;
      if (Date.now() - printedAt >= LINE_EVERY_MS) flush();
    },
    note(text) {
      flush();
      out.note(text);
    },
    stop: flush,
  };
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `6,634/12,000`, `28.3/38.6 MB`: how far something is; both amounts have the unit of the total. */
export function amountOf({ done, total, isBytes = false }: { done: number; total: number; isBytes?: boolean }): string {
  if (!isBytes) return `${done.toLocaleString('en-US')}/${total.toLocaleString('en-US')}`;
  const exponent = exponentOf(total);
  return `${scaled(done, exponent)}/${scaled(total, exponent)} ${BYTE_UNITS[exponent]}`;
}

/** `3,100/s`, `12.5 MB/s` */
export function rateOf(perSecond: number, isBytes = false): string {
  if (!isBytes) return `${Math.round(perSecond).toLocaleString('en-US')}/s`;
  const exponent = exponentOf(perSecond);
  return `${scaled(perSecond, exponent)} ${BYTE_UNITS[exponent]}/s`;
}

function exponentOf(bytes: number): number {
  const exponent = Math.floor(Math.log10(Math.max(1, bytes)) / 3);
  return Math.min(exponent, BYTE_UNITS.length - 1);
}

function scaled(bytes: number, exponent: number): string {
  return (bytes / 1000 ** exponent).toFixed(exponent === 0 ? 0 : exponent < 3 ? 1 : 2);
}

/** Units of times. */
const TIME_UNITS: [name: string, ms: number][] = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
];

/** `2 min ago`, `in 3 h`, `now`; a text that is no time stays as it is. */
export function distance(iso: string, now = Date.now()): string {
  const ms = Date.parse(iso) - now;
  if (Number.isNaN(ms)) return iso;
  const text = amount(Math.abs(ms));
  if (text === undefined) return 'now';
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

/** The largest whole unit: `3 days`, `59 s`; undefined below a second. */
function amount(ms: number): string | undefined {
  const unit = TIME_UNITS.find(([, size]) => ms >= size);
  if (!unit) return undefined;
  const count = Math.floor(ms / unit[1]);
  return `${count} ${unit[0]}${unit[0] === 'day' && count !== 1 ? 's' : ''}`;
}

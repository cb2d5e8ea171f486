/**
 * Finds the values of entries by the bytes between them, without parsing.
 *
 * Programs write all entries of a body alike: the same keys in the same order with the same white space. From an entry
 * that JSON.parse has read, `learn` keeps the bytes between its values. An entry with the same bytes at the same places
 * is valid JSON with the same fields, so its values are known by their positions.
 *
 * Guarantee: `read` takes no entry unless JSON.parse would return exactly these fields with these values. An entry with
 * an escape, a control character, a long value or any other difference is left to JSON.parse.
 */
import { isUtf8 } from 'node:buffer';
import { BACKSLASH, COMMA, QUOTE } from '../../streaming/json-window.ts';
import { type Field, type Layout, layoutOf } from './entry-layout.ts';

/** What `read` finds: whole entries, one after the other. */
export interface ShapedEntries {
  bytes: Buffer;
  layouts: readonly Layout[];
  /**
   * For each entry: the number of its layout, where it starts and ends, and where each value starts and ends, in the
   * order of the layout.
   */
  marks: number[];
  /** The position after the comma that follows the last of them. */
  next: number;
}

/** The number of the layout, the start and the end. */
export const MARKS_BEFORE_VALUES = 3;

/** How many marks the entry has whose marks begin at `at`. */
export function marksAt({ layouts, marks }: ShapedEntries, at: number): number {
  return MARKS_BEFORE_VALUES + 2 * (layouts[marks[at] as number] as Layout).fields.length;
}

/** The same entry, parsed. */
export function parseAt({ bytes, marks }: ShapedEntries, at: number): unknown {
  return JSON.parse(bytes.toString('utf8', marks[at + 1], marks[at + 2]));
}

/** A body with more layouts is rare: exports omit a field or two. */
const MOST_LAYOUTS = 8;
/** No valid value is longer. An unfinished entry is read again with a later chunk, so this bounds the effort. */
const MOST_VALUE_BYTES = 1000;
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');

/** 1 for each byte of a string that stands for itself. */
const PLAIN = new Uint8Array(256).fill(1, 0x20);
PLAIN[QUOTE] = 0;
PLAIN[BACKSLASH] = 0;

export class EntryShapes {
  private readonly layouts: Layout[] = [];
  private latest = 0;

  /** @param from where an entry begins. @param to what lies before is valid JSON and holds the whole entry */
  learn(bytes: Buffer, from: number, to: number): void {
    const start = skipSpace(bytes, from);
    const matches = (layout: Layout) => match(layout, bytes, start, []) >= 0;
    if (this.layouts.length >= MOST_LAYOUTS || this.layouts.some(matches)) return;
    const layout = layoutOf(bytes.subarray(0, to), start);
    if (layout && matches(layout)) this.layouts.push(layout);
  }

  /** Reads entries up to the first without a known layout or a comma behind it. Undefined if that is the first of all. */
  read(bytes: Buffer, from: number): ShapedEntries | undefined {
    const { layouts } = this;
    if (layouts.length === 0) return undefined;
    const marks: number[] = [];
    let next = from;
    for (;;) {
      const length = marks.length;
      const comma = skipSpace(bytes, this.readOne(bytes, skipSpace(bytes, next), marks));
      if (bytes[comma] !== COMMA) {
        marks.length = length;
        break;
      }
      next = comma + 1;
    }
    return next > from && isUtf8(bytes.subarray(from, next)) ? { bytes, layouts, marks, next } : undefined;
  }

  /** Returns where the entry ends; the end of the bytes if it has no known layout. */
  private readOne(bytes: Buffer, from: number, marks: number[]): number {
    const { layouts, latest } = this;
    const length = marks.length;
    for (let i = 0; i < layouts.length; i++) {
      const number = (latest + i) % layouts.length;
      marks.push(number, from, 0);
      const end = match(layouts[number] as Layout, bytes, from, marks);
      if (end >= 0) {
        marks[length + 2] = end;
        this.latest = number;
        return end;
      }
      marks.length = length;
    }
    return bytes.length;
  }
}

/** Appends where each value starts and ends. Returns the end of the entry, or -1 if it differs or is incomplete. */
function match({ between, fields }: Layout, bytes: Buffer, from: number, marks: number[]): number {
  let at = from;
  for (let i = 0; i < fields.length; i++) {
    const start = after(between[i] as Buffer, bytes, at);
    if (start < 0) return -1;
    at = (fields[i] as Field).isFlag ? endOfFlag(bytes, start) : endOfText(bytes, start);
    if (at < 0) return -1;
    marks.push(start, at);
  }
  return after(between[fields.length] as Buffer, bytes, at);
}

/** The position after `expected`, or -1 if something else is there. */
function after(expected: Buffer, bytes: Buffer, at: number): number {
  const { length } = expected;
  if (at + length > bytes.length) return -1;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== expected[i]) return -1;
  return at + length;
}

function endOfText(bytes: Buffer, start: number): number {
  const most = Math.min(bytes.length, start + MOST_VALUE_BYTES);
  let at = start;
  while (at < most && PLAIN[bytes[at] as number] === 1) at++;
  return at < most && bytes[at] === QUOTE ? at : -1;
}

function endOfFlag(bytes: Buffer, start: number): number {
  const end = after(TRUE, bytes, start);
  return end < 0 ? after(FALSE, bytes, start) : end;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isSpace(bytes[at] as number)) at++;
  return at;
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

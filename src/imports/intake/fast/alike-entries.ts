/**
 * Finds the values of entries by the bytes between them, without parsing. See README.md.
 *
 * Programs write all entries of a body alike: the same keys in the same order with the same white space. From an entry
 * that JSON.parse has read, `learn` keeps the bytes between its values: its layout. An entry with the same bytes at the
 * same places is valid JSON with the same fields, so its values are known by their positions.
 *
 * Guarantee: `read` takes no entry unless JSON.parse would return exactly these fields with these values. An entry with
 * an escape, a control character, a long value or any other difference is left to JSON.parse.
 */
import { isUtf8 } from 'node:buffer';
import { BACKSLASH, CLOSE_OBJECT, COLON, COMMA, OPEN_OBJECT, QUOTE } from '../../../platform/text/json-stream.ts';
import type { EntryFinder, ShapedEntries } from '../../entries/parser.ts';

interface Field {
  readonly path: string;
  /** Its value is `true` or `false`; otherwise a string. */
  readonly isFlag: boolean;
}

/**
 * Which fields an entry has in which order, and the bytes between their values. Only layouts of common entries exist:
 * known camelCase fields, each at most once, with strings, `true` and `false` as values, and what every user needs.
 */
interface Layout {
  readonly fields: readonly Field[];
  /** The bytes before each value and after the last one, with the quotes of strings. */
  readonly between: readonly Buffer[];
  /** The position of each known field in `fields`, in the order of FIELDS; -1: the entry has none. */
  readonly places: readonly number[];
}

const TEXTS = [
  'userId',
  'state',
  'user.userName',
  'user.profile.firstName',
  'user.profile.lastName',
  'user.profile.nickName',
  'user.profile.displayName',
  'user.profile.preferredLanguage',
  'user.profile.gender',
  'user.email.email',
  'user.phone.phone',
  'user.hashedPassword.value',
] as const;

const FLAGS = ['user.email.isEmailVerified', 'user.phone.isPhoneVerified', 'user.passwordChangeRequired'] as const;

/** The known fields of a common entry. */
export const FIELDS = [...TEXTS, ...FLAGS];
const REQUIRED = ['userId', 'user.profile.firstName', 'user.profile.lastName', 'user.email.email'];

/** The objects, each with the field without which it is invalid. */
const OBJECTS: Record<string, string> = {
  '': 'userId',
  user: 'user.email.email',
  'user.profile': 'user.profile.firstName',
  'user.email': 'user.email.email',
  'user.phone': 'user.phone.phone',
  'user.hashedPassword': 'user.hashedPassword.value',
};

const [TRUE_START, FALSE_START] = [0x74, 0x66];
const LENGTHS: Record<number, number> = { [TRUE_START]: 4, [FALSE_START]: 5 };

/** The number of the layout, and the start and the end of the entry. */
export const MARKS_BEFORE_VALUES = 3;

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

export class EntryShapes implements EntryFinder {
  private readonly layouts: Layout[] = [];
  private latest = 0;

  learn(bytes: Buffer, from: number, to: number): void {
    const start = skipSpace(bytes, from);
    const matches = (layout: Layout) => match(layout, bytes, start, []) >= 0;
    if (this.layouts.length >= MOST_LAYOUTS || this.layouts.some(matches)) return;
    const layout = layoutOf(bytes.subarray(0, to), start);
    if (layout && matches(layout)) this.layouts.push(layout);
  }

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

/** How many marks the entry has whose marks begin at `at`. */
export function marksAt({ layouts, marks }: ShapedEntries, at: number): number {
  return MARKS_BEFORE_VALUES + 2 * (layouts[marks[at] as number] as ShapedEntries['layouts'][number]).fields.length;
}

/** The entry whose marks begin at `at`, parsed. */
export function parseAt({ bytes, marks }: ShapedEntries, at: number): unknown {
  return JSON.parse(bytes.toString('utf8', marks[at + 1], marks[at + 2]));
}

/** The layout of the entry that begins at `from`, of valid JSON; undefined if it is not a common one. */
export function layoutOf(json: Buffer, from: number): Layout | undefined {
  const reader = new LayoutReader(json, from);
  return reader.object('') ? reader.layout() : undefined;
}

class LayoutReader {
  private readonly json: Buffer;
  private at: number;
  private copied: number;
  private readonly fields: Field[] = [];
  private readonly between: Buffer[] = [];
  private readonly objects = new Set<string>();

  constructor(json: Buffer, from: number) {
    this.json = json;
    this.at = from;
    this.copied = this.skipSpace();
  }

  layout(): Layout | undefined {
    const has = (path: string) => this.fields.some((field) => field.path === path);
    const needed = [...REQUIRED, ...[...this.objects].map((path) => OBJECTS[path] as string)];
    if (!needed.every(has)) return undefined;
    this.pass(this.at);
    const places = FIELDS.map((path) => this.fields.findIndex((field) => field.path === path));
    return { fields: this.fields, between: this.between, places };
  }

  /** Passes an object; false if it is not part of a common entry. */
  object(path: string): boolean {
    if (!Object.hasOwn(OBJECTS, path) || this.objects.has(path) || this.skipTo(OPEN_OBJECT) < 0) return false;
    this.objects.add(path);
    do {
      const key = this.text();
      if (key === undefined || this.skipTo(COLON) < 0) return false;
      if (!this.value(path === '' ? key : `${path}.${key}`)) return false;
    } while (this.skipTo(COMMA) >= 0);
    return this.skipTo(CLOSE_OBJECT) >= 0;
  }

  private value(path: string): boolean {
    const start = this.skipSpace();
    const byte = this.json[start] as number;
    if (byte === OPEN_OBJECT) return this.object(path);
    const isFlag = byte !== QUOTE;
    const known: readonly string[] = isFlag ? FLAGS : TEXTS;
    if (!known.includes(path) || this.fields.some((field) => field.path === path)) return false;
    this.fields.push({ path, isFlag });
    this.pass(isFlag ? start : start + 1);
    if (isFlag) this.at += LENGTHS[byte] ?? 0;
    else if (this.text() === undefined) return false;
    this.copied = isFlag ? this.at : this.at - 1;
    return !isFlag || byte in LENGTHS;
  }

  /** Keeps the bytes up to here as those between two values. */
  private pass(end: number): void {
    this.between.push(Buffer.from(this.json.subarray(this.copied, end)));
  }

  /** Passes a string and returns its text; undefined with an escape. */
  private text(): string | undefined {
    const start = this.skipTo(QUOTE);
    const end = this.json.indexOf(QUOTE, start);
    if (start < 0 || end < 0 || this.json.subarray(start, end).includes(BACKSLASH)) return undefined;
    this.at = end + 1;
    return this.json.toString('utf8', start, end);
  }

  /** Passes white space and the byte; returns the position after it, or -1 if another one is there. */
  private skipTo(byte: number): number {
    if (this.json[this.skipSpace()] !== byte) return -1;
    return ++this.at;
  }

  private skipSpace(): number {
    while ([0x20, 0x0a, 0x0d, 0x09].includes(this.json[this.at] as number)) this.at++;
    return this.at;
  }
}

/**
 * JSON documents of any size, read in chunks: a window over the bytes (`JsonWindow`), the structure that a reader
 * follows (`JsonStructure`), and scans that find where arrays and objects end without parsing them (`Scan`).
 */
import { isUtf8 } from 'node:buffer';
import { Joiner } from './lines.ts';

export const NEWLINE = 0x0a;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
const PUNCTUATION = [COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, QUOTE];

export type Invalid = 'syntax' | 'utf8';

/**
 * A sliding window over a JSON document: bytes are appended at the end, and keys and values are read from the front.
 *
 * Guarantee: text is returned only if it is valid UTF-8. Appending releases the bytes before `position`, so the window
 * holds one chunk plus the unfinished key or value before it. Each byte is copied and searched a bounded number of
 * times, however small the chunks are.
 */
export abstract class JsonWindow {
  buffer: Buffer = Buffer.alloc(0);
  /** Where reading continues in `buffer`; may be past its end when an escape sequence was cut off. */
  position = 0;
  /** Number of bytes of the document before `buffer`. */
  protected offset = 0;
  /** The line of `position`, from 1. A reader that moves `position` adds the newlines it has passed. */
  line = 1;
  private readonly joiner = new Joiner();
  /** Where the string, number or literal begins whose end was searched for last, and where that search continues. */
  private token = -1;
  private searched = -1;

  /** The error for a broken document. @param at position in `buffer` */
  abstract invalid(what: Invalid, at?: number): Error;

  /** Appends the next bytes, and drops those before position `keep`: returns by how much positions have moved down. */
  append(chunk: Buffer, keep: number = this.position): number {
    this.offset += keep;
    this.position -= keep;
    this.token -= keep;
    this.searched -= keep;
    this.buffer = this.joiner.join(this.buffer.subarray(keep), chunk);
    return keep;
  }

  /** Skips white space and returns the next byte without consuming it; undefined when it has not arrived yet. */
  peek(): number | undefined {
    for (; this.position < this.buffer.length; this.position++) {
      const c = this.buffer[this.position] as number;
      if (c === NEWLINE) this.line++;
      else if (!isSpace(c)) return c;
    }
    return undefined;
  }

  /** Where the string at `position` ends, or -1 when its end has not arrived yet. */
  endOfString(): number {
    const { buffer } = this;
    let i = this.searchFrom(this.position + 1);
    for (; i < buffer.length; i++) {
      const c = buffer[i];
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) return i + 1;
    }
    // Past the end of the buffer by one if that cuts off an escape sequence.
    this.searched = i;
    return -1;
  }

  /** Where the number or literal at `position` ends; the end of the buffer if nothing after it has arrived. */
  endOfScalar(): number {
    let i = this.searchFrom(this.position);
    while (i < this.buffer.length && !isDelimiter(this.buffer[i] as number)) i++;
    this.searched = i;
    return i;
  }

  /** Where to search for the end of the token at `position`: `from`, unless an earlier search has come further. */
  private searchFrom(from: number): number {
    if (this.token !== this.position) {
      this.token = this.position;
      this.searched = from;
    }
    return this.searched;
  }

  /** The bytes between two positions as text. @throws the window's error when they are not UTF-8 */
  text(from: number, to: number): string {
    const text = this.textIfUtf8(from, to);
    if (text === undefined) throw this.invalid('utf8', from);
    return text;
  }

  textIfUtf8(from: number, to: number): string | undefined {
    const bytes = this.buffer.subarray(from, to);
    return isUtf8(bytes) ? bytes.toString('utf8') : undefined;
  }

  /** JSON.parse, for text that began at position `at`. @throws the window's error */
  parse(text: string, at: number): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.invalid('syntax', at);
    }
  }
}

/** `key` and `value` begin at the window's position; `end`, the end of an array or object, was consumed. */
export type Part = 'key' | 'value' | 'end';

/** What the next byte after white space should begin. */
type Expect = 'value' | 'first' | 'key' | 'colon' | 'next';

/**
 * Follows the structure of a JSON document (RFC 8259, section 2): commas, colons, and where arrays and objects end. Its
 * caller reads the keys and values, or skips them.
 */
export class JsonStructure {
  /** The open containers, from the outermost: whether each is an array. */
  private readonly containers: boolean[] = [];
  private expect: Expect = 'value';

  /**
   * The next part, again until the caller has passed or entered it. Undefined when it has not arrived yet.
   * After the end of a document, another one may follow.
   * @throws the window's error where the syntax is wrong
   */
  next(window: JsonWindow): Part | undefined {
    for (;;) {
      const byte = window.peek();
      if (byte === undefined) return undefined;
      const isArray = this.containers.at(-1);
      const isEnd = byte === (isArray ? CLOSE_ARRAY : CLOSE_OBJECT);
      if (this.expect === 'value') return 'value';
      if (isEnd && (this.expect === 'first' || this.expect === 'next')) return this.leave(window);
      if (this.expect === 'first' && isArray) return 'value';
      if (this.expect === 'first' || this.expect === 'key') {
        if (byte !== QUOTE) throw window.invalid('syntax');
        return 'key';
      }
      if (byte !== (this.expect === 'colon' ? COLON : COMMA)) throw window.invalid('syntax');
      window.position++;
      this.expect = this.expect === 'colon' || isArray ? 'value' : 'key';
    }
  }

  private leave(window: JsonWindow): Part {
    window.position++;
    this.containers.pop();
    this.passValue();
    return 'end';
  }

  /** Consumes the bracket at the window's position. */
  enter(window: JsonWindow, isArray: boolean): void {
    window.position++;
    this.containers.push(isArray);
    this.expect = 'first';
  }

  /** The caller has read the key. */
  passKey(): void {
    this.expect = 'colon';
  }

  /** The caller has read the value. */
  passValue(): void {
    this.expect = this.containers.length === 0 ? 'value' : 'next';
  }
}

/** 1: quote, 2: opening bracket, 3: closing bracket, 4: comma, 0: anything else. */
const CLASS = new Uint8Array(256);
CLASS[QUOTE] = 1;
CLASS[OPEN_OBJECT] = 2;
CLASS[OPEN_ARRAY] = 2;
CLASS[CLOSE_OBJECT] = 3;
CLASS[CLOSE_ARRAY] = 3;
CLASS[COMMA] = 4;

/**
 * A scan of the elements of one array or object: finds its end, and the commas between its elements.
 *
 * Guarantee: reads each byte once, however the text is split into chunks; holds no text. It recognises only strings and
 * nesting, because JSON.parse validates the text between two boundaries.
 */
export interface Scan {
  /** Where to continue in the buffer; may lie past its end when an escape is split between chunks. */
  position: number;
  /** Arrays and objects that are open inside it. */
  depth: number;
  inString: boolean;
  /** Position of the last comma between two elements, or -1. */
  lastComma: number;
  /** Position of the `]` or `}` that ends it, or -1. */
  end: number;
  /** The element after `lastComma` nests deeper than allowed; the scan is over. */
  tooDeep: boolean;
}

/** A scan that starts right after the opening bracket. */
export function startScan(position: number): Scan {
  return { position, depth: 0, inString: false, lastComma: -1, end: -1, tooDeep: false };
}

/** Moves the positions of the scan down by `moved`, as the bytes of the buffer have been. */
export function shift(scan: Scan, moved: number): void {
  scan.position -= moved;
  scan.lastComma -= moved;
}

/**
 * Advances `scan` to the end of the buffer, to the end of the array or object, or to a value nested too deep.
 * @param room how deep its elements may nest
 */
export function advance(scan: Scan, buffer: Uint8Array, room: number): void {
  const length = buffer.length;
  let { position: i, depth, inString, lastComma } = scan;
  scanning: while (i < length) {
    // Most bytes are in strings, so they have a loop of their own.
    while (inString && i < length) {
      const c = buffer[i++] as number;
      if (c === QUOTE) inString = false;
      else if (c === BACKSLASH) i++;
    }
    if (i >= length) break;
    switch (CLASS[buffer[i] as number]) {
      case 1:
        inString = true;
        break;
      case 2:
        if (++depth > room) {
          scan.tooDeep = true;
          break scanning;
        }
        break;
      case 3:
        if (depth === 0) {
          scan.end = i++;
          break scanning;
        }
        depth--;
        break;
      case 4:
        if (depth === 0) lastComma = i;
        break;
    }
    i++;
  }
  scan.position = i;
  scan.depth = depth;
  scan.inString = inString;
  scan.lastComma = lastComma;
}

/**
 * Whether a JSON document holds more than `most` values, nested ones included. An empty array or object counts as two.
 */
export function holdsMoreValues(bytes: Uint8Array, most: number): boolean {
  let count = 1;
  for (let i = 0; i < bytes.length; i++) {
    const kind = CLASS[bytes[i] as number];
    if (kind === 1) {
      for (i++; i < bytes.length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
    } else if ((kind === 2 || kind === 4) && ++count > most) return true;
  }
  return count > most;
}

/** Whether a JSON document nests more than `most` arrays and objects. */
export function textNestsDeeper(bytes: Uint8Array, most: number): boolean {
  const scan = startScan(0);
  advance(scan, bytes, most);
  return scan.tooDeep;
}

/** Whether a parsed value nests more than `room` containers, itself included. For a repeated key, the last counts. */
export function nestsDeeper(value: unknown, room: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (room === 0) return true;
  // A loop over the keys of an array takes five times as long.
  if (Array.isArray(value)) return value.some((element) => nestsDeeper(element, room - 1));
  for (const key in value) if (nestsDeeper((value as Record<string, unknown>)[key], room - 1)) return true;
  return false;
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === NEWLINE || c === 0x0d || c === 0x09;
}

function isDelimiter(c: number): boolean {
  return isSpace(c) || PUNCTUATION.includes(c);
}

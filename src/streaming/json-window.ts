/**
 * A sliding window over a JSON document: bytes are appended at the end, and keys and values are read from the front.
 *
 * Guarantee: text is returned only if it is valid UTF-8. Appending releases the bytes before `position`, so the window
 * holds one chunk plus the unfinished key or value before it. Each byte is copied and searched a bounded number of
 * times, however small the chunks are.
 */
import { isUtf8 } from 'node:buffer';
import { Joiner } from './joiner.ts';

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

function isSpace(c: number): boolean {
  return c === 0x20 || c === NEWLINE || c === 0x0d || c === 0x09;
}

function isDelimiter(c: number): boolean {
  return isSpace(c) || PUNCTUATION.includes(c);
}

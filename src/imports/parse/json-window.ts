/**
 * A sliding window over a JSON body: bytes are appended at the end, tokens are read from the front.
 *
 * Guarantee: a token is returned only when it is complete; a body with invalid UTF-8 is refused. Bytes that were read
 * are released, so the window holds one chunk plus the unfinished token or entry before it.
 */
import { isUtf8 } from 'node:buffer';
import { ParseError } from './parse-error.ts';

/** The most bytes of a name or value outside of the users. */
const MAX_TOKEN = 2 ** 20;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** One of `{}[]:,`, or a value (string, number, literal). */
export type Token = { mark: string } | { mark: ''; value: unknown };

export class JsonWindow {
  buffer: Buffer = Buffer.alloc(0);
  /** Where reading continues in `buffer`. */
  position = 0;
  /** The last byte of the body is in `buffer`. */
  final = false;
  /** Bytes of the body before `buffer`, for messages. */
  private offset = 0;

  /** Appends the next bytes; returns by how much positions in `buffer` have moved down. */
  append(chunk: Buffer): number {
    const moved = this.position;
    const rest = this.buffer.subarray(moved);
    this.offset += moved;
    this.position = 0;
    this.buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    return moved;
  }

  /** The next token, or undefined when its end has not arrived yet. */
  token(): Token | undefined {
    const { buffer } = this;
    if (this.offset === 0 && this.position === 0 && buffer.subarray(0, 3).equals(BOM)) this.position = 3;
    while (this.position < buffer.length && isSpace(buffer[this.position] as number)) this.position++;
    if (this.position >= buffer.length) return undefined;
    const first = String.fromCharCode(buffer[this.position] as number);
    if ('{}[]:,'.includes(first)) {
      this.position++;
      return { mark: first };
    }
    const end = first === '"' ? this.endOfString() : this.endOfScalar();
    if ((end < 0 ? buffer.length : end) - this.position > MAX_TOKEN) {
      throw new ParseError(
        'IMPORT-BODY',
        `Each name and value outside of the users must be at most ${MAX_TOKEN} bytes.`,
      );
    }
    return end < 0 ? undefined : { mark: '', value: this.json(end) };
  }

  private json(end: number): unknown {
    const value = this.parse(this.text(this.position, end), this.position);
    this.position = end;
    return value;
  }

  private endOfString(): number {
    for (let i = this.position + 1; i < this.buffer.length; i++) {
      const c = this.buffer[i];
      if (c === BACKSLASH) i++;
      else if (c === QUOTE) return i + 1;
    }
    return -1;
  }

  private endOfScalar(): number {
    let i = this.position;
    while (i < this.buffer.length && !isDelimiter(this.buffer[i] as number)) i++;
    return i < this.buffer.length || this.final ? i : -1;
  }

  /** The bytes between two positions as text. @throws ParseError when they are not UTF-8 */
  text(from: number, to: number): string {
    const text = this.textIfUtf8(from, to);
    if (text === undefined) throw this.notJson(from, 'it is not valid UTF-8');
    return text;
  }

  textIfUtf8(from: number, to: number): string | undefined {
    const slice = this.buffer.subarray(from, to);
    return isUtf8(slice) ? slice.toString('utf8') : undefined;
  }

  /** JSON.parse, for text that began at position `at`. @throws ParseError */
  parse(text: string, at: number): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.notJson(at, 'there is a syntax error');
    }
  }

  /** @param at position in `buffer` */
  notJson(at: number, what: string): ParseError {
    return new ParseError('REQUEST-JSON', `The body is not valid JSON: ${what} at or after byte ${this.offset + at}.`);
  }

  unexpected(): ParseError {
    return this.notJson(this.position, 'there is a syntax error');
  }
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

/** Whitespace and `,:{}[]"`. */
function isDelimiter(c: number): boolean {
  return isSpace(c) || c === 0x2c || c === 0x3a || c === 0x7b || c === 0x7d || c === 0x5b || c === 0x5d || c === QUOTE;
}

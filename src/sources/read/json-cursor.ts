/**
 * The buffered part of a JSON document and the position in it: bytes are appended at the end, tokens are taken from the
 * front.
 */
import { isUtf8 } from 'node:buffer';
import { FileError, MAX_RECORD_BYTES } from './records.ts';

export const NEWLINE = 0x0a;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const SPACE = 0x20;
const TAB = 0x09;
const RETURN = 0x0d;

export class JsonCursor {
  buffer: Buffer = Buffer.alloc(0);
  /** Where reading continues in `buffer`; may be past its end when an escape sequence was cut off. */
  at = 0;
  /** The current line, from 1. */
  line = 1;

  /** Appends the next bytes, and drops those before position `keep`. */
  append(chunk: Buffer, keep: number): void {
    this.buffer = keep < this.buffer.length ? Buffer.concat([this.buffer.subarray(keep), chunk]) : chunk;
    this.at -= keep;
  }

  /** Skips white space and returns the next byte without consuming it; undefined when it has not arrived yet. */
  skipSpace(): number | undefined {
    for (; this.at < this.buffer.length; this.at++) {
      const c = this.buffer[this.at] as number;
      if (c === NEWLINE) this.line++;
      else if (c !== SPACE && c !== TAB && c !== RETURN) return c;
    }
    return undefined;
  }

  /** Where the string that began before `from` ends, or -1 when its end has not arrived yet. */
  endOfString(from: number): number {
    for (let i = from; i < this.buffer.length; i++) {
      if (this.buffer[i] === BACKSLASH) i++;
      else if (this.buffer[i] === QUOTE) return i + 1;
    }
    return -1;
  }

  /** @throws FileError */
  parse(from: number, end: number): unknown {
    const bytes = this.buffer.subarray(from, end);
    if (!isUtf8(bytes)) throw new FileError('The file is not valid UTF-8.', this.line);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw this.broken();
    }
  }

  /**
   * More bytes are needed for the value that began at `from`.
   * @throws FileError when there are no more, or the value is too long
   */
  needMore(from: number, final: boolean): false {
    if (final) throw this.cutOff();
    if (this.buffer.length - from > MAX_RECORD_BYTES) {
      throw new FileError(`A record is longer than ${MAX_RECORD_BYTES} bytes.`, this.line);
    }
    return false;
  }

  broken(): FileError {
    return new FileError('The file is not valid JSON.', this.line);
  }

  cutOff(): FileError {
    return new FileError('The file ends in the middle of a value.', this.line);
  }
}

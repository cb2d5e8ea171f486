/**
 * The part of a JSON document that is at hand, and where we are in it: bytes come in at the end, tokens go out at the front.
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
  /** Where reading goes on in `buffer`; may lie behind its end when an escape was cut. */
  at = 0;
  /** From 1. */
  line = 1;

  /** Takes the next bytes, and lets go of those before position `keep`. */
  append(chunk: Buffer, keep: number): void {
    this.buffer = keep < this.buffer.length ? Buffer.concat([this.buffer.subarray(keep), chunk]) : chunk;
    this.at -= keep;
  }

  /** The next byte that is no space, which is not passed; undefined when it is not here yet. */
  skipSpace(): number | undefined {
    for (; this.at < this.buffer.length; this.at++) {
      const c = this.buffer[this.at] as number;
      if (c === NEWLINE) this.line++;
      else if (c !== SPACE && c !== TAB && c !== RETURN) return c;
    }
    return undefined;
  }

  /** Where the text ends that has begun before `from`, or -1 when that is not here yet. */
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
   * For what began at `from` and has not ended: more is needed.
   * @throws FileError when there is no more, or it is too long
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

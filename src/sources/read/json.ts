/**
 * Finds the users in a JSON document of any size: the values at given paths, one at a time, in bounded memory.
 *
 * Guarantee: looks at each byte once and holds no more than one record; a document may be followed by further ones, as
 * when pages of answers were put into one file. A syntax error ends the file, as nothing after it has a certain place.
 */
import { isUtf8 } from 'node:buffer';
import type { JsonPath } from '../source.ts';
import { FileError, type FileRecord, MAX_RECORD_BYTES, type Records } from './records.ts';

/** The key under which a record gets the plain texts that stood before it in the object around its array. */
export const CONTEXT = '@context';

const LONGEST_CONTEXT = 1000;
const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An array or object on the way to the records. */
interface Frame {
  isArray: boolean;
  /** Its plain texts so far. */
  context: Record<string, string> | undefined;
}

/** A value that is being passed over. */
interface Passed {
  /** Where what we hold of it begins. */
  from: number;
  line: number;
  depth: number;
  inString: boolean;
  isRecord: boolean;
  /** Its beginning was let go, as nobody needs it. */
  isCut: boolean;
}

/** What the next byte that is no space should be. */
type Expect = 'value' | 'first' | 'key' | 'colon' | 'next';

export async function* jsonRecords(chunks: AsyncIterable<Buffer>, paths: readonly JsonPath[]): Records {
  const scanner = new JsonScanner(paths);
  for await (const chunk of chunks) {
    const records = scanner.push(chunk);
    if (records.length > 0) yield records;
  }
  const records = scanner.end();
  if (records.length > 0) yield records;
}

export class JsonScanner {
  private readonly paths: readonly JsonPath[];
  private buffer: Buffer = Buffer.alloc(0);
  private at = 0;
  private line = 1;
  private readonly frames: Frame[] = [];
  /** Names of the keys, and `*`, from the document to where we are. */
  private readonly path: string[] = [];
  private expect: Expect = 'value';
  private value: Passed | undefined;
  private found: FileRecord[] = [];

  constructor(paths: readonly JsonPath[]) {
    this.paths = paths;
  }

  push(chunk: Buffer): FileRecord[] {
    const keep = this.value?.from ?? this.at;
    this.buffer = keep < this.buffer.length ? Buffer.concat([this.buffer.subarray(keep), chunk]) : chunk;
    this.at -= keep;
    if (this.value) this.value.from = 0;
    this.run(false);
    const { found } = this;
    this.found = [];
    return found;
  }

  end(): FileRecord[] {
    this.run(true);
    if (this.value || this.frames.length > 0) throw new FileError('The file ends in the middle of a value.', this.line);
    const { found } = this;
    this.found = [];
    return found;
  }

  private run(final: boolean): void {
    while (this.value ? this.passOver(final) : this.step(final));
  }

  /** One token; false when there is no more to be had. */
  private step(final: boolean): boolean {
    const byte = this.skipSpace();
    if (byte === undefined) return false;
    switch (this.expect) {
      case 'key':
      case 'first':
        if (byte === CLOSE_OBJECT && this.expect === 'first' && !this.top()?.isArray) return this.close();
        if (byte === CLOSE_ARRAY && this.expect === 'first' && this.top()?.isArray) return this.close();
        return this.top()?.isArray ? this.begin(byte) : this.key(byte, final);
      case 'colon':
        if (byte !== COLON) throw this.broken();
        return this.take('value');
      case 'value':
        return this.begin(byte);
      case 'next':
        return this.next(byte);
    }
  }

  private next(byte: number): boolean {
    const top = this.top() as Frame;
    if (!top.isArray) this.path.pop();
    if (byte === COMMA) return this.take(top.isArray ? 'value' : 'key');
    if (byte === (top.isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) return this.close();
    throw this.broken();
  }

  private take(expect: Expect): boolean {
    this.at++;
    this.expect = expect;
    return true;
  }

  private top(): Frame | undefined {
    return this.frames.at(-1);
  }

  private close(): boolean {
    if (this.frames.pop()?.isArray) this.path.pop();
    return this.take(this.frames.length === 0 ? 'value' : 'next');
  }

  private key(byte: number, final: boolean): boolean {
    if (byte !== QUOTE) throw this.broken();
    const end = this.endOfString(this.at + 1);
    if (end < 0) return this.tooLong(this.at, final);
    this.path.push(this.parse(this.at, end) as string);
    this.at = end;
    this.expect = 'colon';
    return true;
  }

  /** A value begins: one on the way to the records is entered, any other is passed over, or is a record. */
  private begin(byte: number): boolean {
    const isRecord = this.paths.some((path) => path.length === this.path.length && this.isBegun(path));
    if (!isRecord && (byte === OPEN_ARRAY || byte === OPEN_OBJECT) && this.enter(byte === OPEN_ARRAY)) return true;
    this.value = { from: this.at, line: this.line, depth: 0, inString: false, isRecord, isCut: false };
    return true;
  }

  private enter(isArray: boolean): boolean {
    const { length } = this.path;
    const leads = (path: JsonPath) => path.length > length && (path[length] === '*') === isArray && this.isBegun(path);
    if (!this.paths.some(leads)) return false;
    this.frames.push({ isArray, context: undefined });
    if (isArray) this.path.push('*');
    return this.take('first');
  }

  private isBegun(path: JsonPath): boolean {
    return this.path.every((name, i) => path[i] === name);
  }

  /** Goes on to the end of the value that was begun; false when it is not here yet. */
  private passOver(final: boolean): boolean {
    const value = this.value as Passed;
    const { buffer } = this;
    let i = this.at;
    for (; i < buffer.length; i++) {
      const c = buffer[i] as number;
      if (value.inString) {
        if (c === QUOTE) {
          value.inString = false;
          if (value.depth === 0) return this.finish(i + 1);
        } else if (c === BACKSLASH) i++;
        else if (c === NEWLINE) this.line++;
      } else if (c === QUOTE) value.inString = true;
      else if (c === OPEN_OBJECT || c === OPEN_ARRAY) value.depth++;
      else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        // A number or a word ends where the container around it does.
        if (value.depth === 0) return this.finish(i);
        if (--value.depth === 0) return this.finish(i + 1);
      } else if (value.depth === 0 && (c === COMMA || c <= 0x20)) return this.finish(i);
      else if (c === NEWLINE) this.line++;
    }
    this.at = i;
    if (final && value.depth === 0 && !value.inString) return this.finish(buffer.length);
    if (!value.isRecord) {
      value.from = Math.min(i, buffer.length);
      value.isCut = true;
    }
    return this.tooLong(value.from, final);
  }

  private finish(end: number): boolean {
    const { from, line, isRecord, isCut } = this.value as Passed;
    this.value = undefined;
    if (end === from && !isCut) throw this.broken();
    if (isRecord) this.found.push({ line, value: this.withContext(this.parse(from, end)) });
    else if (!isCut) this.remember(from, end);
    this.at = end;
    this.expect = this.frames.length === 0 ? 'value' : 'next';
    return true;
  }

  private withContext(value: unknown): unknown {
    const context = this.frames.findLast((frame) => !frame.isArray)?.context;
    if (!context || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return { ...value, [CONTEXT]: context };
  }

  /** A text of an object that is entered is kept for the records in it. */
  private remember(from: number, end: number): void {
    const top = this.top();
    if (!top || top.isArray || this.buffer[from] !== QUOTE || end - from > LONGEST_CONTEXT) return;
    top.context = { ...top.context, [this.path.at(-1) as string]: this.parse(from, end) as string };
  }

  private endOfString(from: number): number {
    for (let i = from; i < this.buffer.length; i++) {
      if (this.buffer[i] === BACKSLASH) i++;
      else if (this.buffer[i] === QUOTE) return i + 1;
    }
    return -1;
  }

  private skipSpace(): number | undefined {
    for (; this.at < this.buffer.length; this.at++) {
      const c = this.buffer[this.at] as number;
      if (c === NEWLINE) this.line++;
      else if (c !== 0x20 && c !== 0x09 && c !== 0x0d) return c;
    }
    return undefined;
  }

  private parse(from: number, end: number): unknown {
    const bytes = this.buffer.subarray(from, end);
    if (!isUtf8(bytes)) throw new FileError('The file is not valid UTF-8.', this.line);
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      throw this.broken();
    }
  }

  private tooLong(from: number, final: boolean): false {
    if (final) throw new FileError('The file ends in the middle of a value.', this.line);
    if (this.buffer.length - from > MAX_RECORD_BYTES) {
      throw new FileError(`A record is longer than ${MAX_RECORD_BYTES} bytes.`, this.line);
    }
    return false;
  }

  private broken(): FileError {
    return new FileError('The file is not valid JSON.', this.line);
  }
}

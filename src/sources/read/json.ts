/**
 * Finds the users in a JSON document of any size: the values at given paths, one at a time, in bounded memory.
 *
 * Guarantee: reads each byte once and holds at most one record. No string may be longer than a record, even if it is
 * skipped. A file may hold several documents, such as the concatenated pages of an API. A syntax error ends the file,
 * because the position of everything after it is uncertain.
 */
import type { JsonPath } from '../source.ts';
import { BACKSLASH, JsonCursor, NEWLINE, QUOTE } from './json-cursor.ts';
import { FileError, type FileRecord, MAX_RECORD_BYTES, type Records } from './records.ts';

/** The key under which a record gets the strings that precede its array in the enclosing object. */
export const CONTEXT = '@context';

const LONGEST_CONTEXT = 1000;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An array or object on the path to the records. */
interface Frame {
  isArray: boolean;
  /** Its strings so far. */
  context: Record<string, string> | undefined;
}

/** A value that is being skipped. */
interface Passed {
  /** Where the buffered part of it begins. */
  from: number;
  line: number;
  depth: number;
  inString: boolean;
  /** Where the unfinished string began; negative when its beginning was dropped. */
  textFrom: number;
  isRecord: boolean;
  /** Its beginning was dropped, as it is not needed. */
  isCut: boolean;
}

/** What the next byte after white space should begin. */
type Expect = 'value' | 'first' | 'key' | 'colon' | 'next';

export async function* jsonRecords(chunks: AsyncIterable<Buffer>, paths: readonly JsonPath[]): Records {
  const scanner = new JsonScanner(paths);
  for await (const chunk of chunks) {
    yield* scanner.push(chunk);
    if (scanner.problem) throw scanner.problem;
  }
  yield* scanner.end();
  if (scanner.problem) throw scanner.problem;
}

export class JsonScanner {
  private readonly paths: readonly JsonPath[];
  private readonly cursor = new JsonCursor();
  private readonly frames: Frame[] = [];
  /** Names of the keys, and `*`, from the root to the current position. */
  private readonly path: string[] = [];
  private expect: Expect = 'value';
  private value: Passed | undefined;
  private found: FileRecord[] = [];
  /** What is wrong with the document; nothing comes after it. */
  problem: FileError | undefined;

  constructor(paths: readonly JsonPath[]) {
    this.paths = paths;
  }

  /** The records that end in `chunk`: no group or one. */
  push(chunk: Buffer): FileRecord[][] {
    this.cursor.append(chunk, this.value?.from ?? this.cursor.at);
    if (this.value) this.value.from = 0;
    return this.take(false);
  }

  end(): FileRecord[][] {
    return this.take(true);
  }

  private take(final: boolean): FileRecord[][] {
    if (!this.problem) this.attempt(final);
    const { found } = this;
    this.found = [];
    return found.length > 0 ? [found] : [];
  }

  private attempt(final: boolean): void {
    try {
      this.run(final);
      if (final && (this.value || this.frames.length > 0)) throw this.cursor.cutOff();
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.problem = error;
    }
  }

  private run(final: boolean): void {
    while (this.value ? this.passOver(final) : this.step(final));
  }

  /** Consumes one token; false when no complete token has arrived. */
  private step(final: boolean): boolean {
    const byte = this.cursor.skipSpace();
    if (byte === undefined) return false;
    switch (this.expect) {
      case 'key':
      case 'first':
        if (byte === CLOSE_OBJECT && this.expect === 'first' && !this.top()?.isArray) return this.close();
        if (byte === CLOSE_ARRAY && this.expect === 'first' && this.top()?.isArray) return this.close();
        return this.top()?.isArray ? this.begin(byte) : this.key(byte, final);
      case 'colon':
        if (byte !== COLON) throw this.cursor.broken();
        return this.pass('value');
      case 'value':
        return this.begin(byte);
      case 'next':
        return this.next(byte);
    }
  }

  private next(byte: number): boolean {
    const top = this.top() as Frame;
    if (!top.isArray) this.path.pop();
    if (byte === COMMA) return this.pass(top.isArray ? 'value' : 'key');
    if (byte === (top.isArray ? CLOSE_ARRAY : CLOSE_OBJECT)) return this.close();
    throw this.cursor.broken();
  }

  private pass(expect: Expect): boolean {
    this.cursor.at++;
    this.expect = expect;
    return true;
  }

  private top(): Frame | undefined {
    return this.frames.at(-1);
  }

  private close(): boolean {
    if (this.frames.pop()?.isArray) this.path.pop();
    return this.pass(this.frames.length === 0 ? 'value' : 'next');
  }

  private key(byte: number, final: boolean): boolean {
    if (byte !== QUOTE) throw this.cursor.broken();
    const end = this.cursor.endOfString(this.cursor.at + 1);
    if (end < 0) return this.cursor.needMore(this.cursor.at, final);
    this.path.push(this.cursor.parse(this.cursor.at, end) as string);
    this.cursor.at = end;
    this.expect = 'colon';
    return true;
  }

  /** Begins a value: enters it if it is on the path to the records; any other is skipped or is a record. */
  private begin(byte: number): boolean {
    const isRecord = this.paths.some((path) => path.length === this.path.length && this.isBegun(path));
    if (!isRecord && (byte === OPEN_ARRAY || byte === OPEN_OBJECT) && this.enter(byte === OPEN_ARRAY)) return true;
    const { at: from, line } = this.cursor;
    this.value = { from, line, depth: 0, inString: false, textFrom: from, isRecord, isCut: false };
    return true;
  }

  private enter(isArray: boolean): boolean {
    const { length } = this.path;
    const leads = (path: JsonPath) => path.length > length && (path[length] === '*') === isArray && this.isBegun(path);
    if (!this.paths.some(leads)) return false;
    this.frames.push({ isArray, context: undefined });
    if (isArray) this.path.push('*');
    return this.pass('first');
  }

  private isBegun(path: JsonPath): boolean {
    return this.path.every((name, i) => path[i] === name);
  }

  /** Continues to the end of the current value; false when that has not arrived yet. */
  private passOver(final: boolean): boolean {
    const value = this.value as Passed;
    const { buffer } = this.cursor;
    let i = this.cursor.at;
    for (; i < buffer.length; i++) {
      const c = buffer[i] as number;
      if (value.inString) {
        if (c === QUOTE) {
          value.inString = false;
          if (value.depth === 0) return this.finish(i + 1);
        } else if (c === BACKSLASH) i++;
        else if (c === NEWLINE) this.cursor.line++;
      } else if (c === QUOTE) {
        value.inString = true;
        value.textFrom = i;
      } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) value.depth++;
      else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        // A number or literal ends where its container does.
        if (value.depth === 0) return this.finish(i);
        if (--value.depth === 0) return this.finish(i + 1);
      } else if (value.depth === 0 && (c === COMMA || c <= 0x20)) return this.finish(i);
      else if (c === NEWLINE) this.cursor.line++;
    }
    this.cursor.at = i;
    if (final && value.depth === 0 && !value.inString) return this.finish(buffer.length);
    if (!value.isRecord) this.letGo(value, i);
    return this.cursor.needMore(value.from, final);
  }

  /**
   * Drops the buffered part of a skipped value.
   * @throws FileError when one of its strings is longer than a record may be
   */
  private letGo(value: Passed, at: number): void {
    if (value.inString && at - value.textFrom > MAX_RECORD_BYTES) {
      throw new FileError(`A string is longer than ${MAX_RECORD_BYTES} bytes.`, value.line);
    }
    value.from = Math.min(at, this.cursor.buffer.length);
    value.textFrom -= value.from;
    value.isCut = true;
  }

  private finish(end: number): boolean {
    const { from, line, isRecord, isCut } = this.value as Passed;
    this.value = undefined;
    if (end === from && !isCut) throw this.cursor.broken();
    if (isRecord) this.found.push({ line, value: this.withContext(this.cursor.parse(from, end)) });
    else if (!isCut) this.remember(from, end);
    this.cursor.at = end;
    this.expect = this.frames.length === 0 ? 'value' : 'next';
    return true;
  }

  private withContext(value: unknown): unknown {
    const context = this.frames.findLast((frame) => !frame.isArray)?.context;
    if (!context || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return { ...value, [CONTEXT]: context };
  }

  /** Keeps a string of an entered object for the records in it. */
  private remember(from: number, end: number): void {
    const top = this.top();
    if (!top || top.isArray || this.cursor.buffer[from] !== QUOTE || end - from > LONGEST_CONTEXT) return;
    top.context = { ...top.context, [this.path.at(-1) as string]: this.cursor.parse(from, end) as string };
  }
}

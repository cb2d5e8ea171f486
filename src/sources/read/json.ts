/**
 * Finds the users in a JSON document of any size: the values at given paths, one at a time, in bounded memory.
 *
 * Guarantee: reads each byte once and holds at most one record. No string may be longer than a record, even if it is
 * skipped. A file may hold several documents, such as the concatenated pages of an API. A syntax error ends the file,
 * because the position of everything after it is uncertain.
 */
import {
  advance,
  JsonStructure,
  NEWLINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  type Scan,
  shift,
  startScan,
} from '../../platform/text/json-stream.ts';
import { EACH_KEY, type JsonPath } from '../source.ts';
import { CONTEXT, isFields, KEY } from '../values.ts';
import { FileError, type FileRecord, FileWindow, MAX_RECORD_BYTES, type Records } from './records.ts';

const LONGEST_CONTEXT = 1000;

/** An array or object on the path to the records. */
interface Frame {
  isArray: boolean;
  /** The strings of the object so far. */
  context: Record<string, string> | undefined;
}

/** A value that is being passed over: a record, or one that is skipped. */
interface Passed {
  /** Where the buffered part of it begins. */
  from: number;
  line: number;
  /** How far an array or object was read. */
  scan: Scan | undefined;
  /** Number of bytes of the unfinished string in a skipped array or object. */
  stringBytes: number;
  isRecord: boolean;
  /** The beginning of the value was dropped, as it is not needed. */
  isCut: boolean;
}

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
  private readonly window = new FileWindow();
  private readonly structure = new JsonStructure();
  private readonly frames: Frame[] = [];
  /** Names of the keys, and `*`, from the root to the current position. */
  private readonly path: string[] = [];
  private value: Passed | undefined;
  private found: FileRecord[] = [];
  /** What is wrong with the document; nothing comes after it. */
  problem: FileError | undefined;

  constructor(paths: readonly JsonPath[]) {
    this.paths = paths;
  }

  /** The records that end in `chunk`: no group or one. */
  push(chunk: Buffer): FileRecord[][] {
    const moved = this.window.append(chunk, this.value?.from);
    if (this.value) this.value.from = 0;
    if (this.value?.scan) shift(this.value.scan, moved);
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
      if (final && (this.value || this.frames.length > 0)) throw this.window.cutOff();
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.problem = error;
    }
  }

  private run(final: boolean): void {
    while (this.value ? this.passOver(final) : this.step(final));
  }

  /** Reads one part of an array or object on the path; false when it has not arrived as a whole. */
  private step(final: boolean): boolean {
    switch (this.structure.next(this.window)) {
      case 'key':
        return this.key(final);
      case 'value':
        return this.begin();
      case 'end':
        return this.leave();
      case undefined:
        return false;
    }
  }

  private top(): Frame | undefined {
    return this.frames.at(-1);
  }

  private leave(): boolean {
    if (this.frames.pop()?.isArray) this.path.pop();
    return this.passValue();
  }

  /** The path ends with a key only while its value is read. */
  private passValue(): boolean {
    if (this.top()?.isArray === false) this.path.pop();
    return true;
  }

  private key(final: boolean): boolean {
    const { position } = this.window;
    const end = this.window.endOfString();
    if (end < 0) return this.window.needMore(position, final);
    this.path.push(this.window.value(position, end) as string);
    this.window.position = end;
    this.structure.passKey();
    return true;
  }

  /** Begins a value: enters it if it is on the path to the records; any other is skipped or is a record. */
  private begin(): boolean {
    const byte = this.window.buffer[this.window.position];
    const isRecord = this.paths.some((path) => path.length === this.path.length && this.isBegun(path));
    if (!isRecord && (byte === OPEN_ARRAY || byte === OPEN_OBJECT) && this.enter(byte === OPEN_ARRAY)) return true;
    const { position: from, line } = this.window;
    const scan = byte === OPEN_ARRAY || byte === OPEN_OBJECT ? startScan(from + 1) : undefined;
    this.value = { from, line, scan, stringBytes: 0, isRecord, isCut: false };
    return true;
  }

  private enter(isArray: boolean): boolean {
    const { length } = this.path;
    const leads = (path: JsonPath) => path.length > length && (path[length] === '*') === isArray && this.isBegun(path);
    if (!this.paths.some(leads)) return false;
    this.frames.push({ isArray, context: undefined });
    if (isArray) this.path.push('*');
    this.structure.enter(this.window, isArray);
    return true;
  }

  private isBegun(path: JsonPath): boolean {
    return this.path.every((name, i) => path[i] === name || (path[i] === EACH_KEY && name !== '*'));
  }

  /** Continues to the end of the current value; false when that has not arrived yet. */
  private passOver(final: boolean): boolean {
    const value = this.value as Passed;
    const end = value.scan ? this.endOfContainer(value.scan) : this.endOfScalar(final);
    if (end >= 0) return this.finish(value, end);
    if (value.scan && !value.isRecord) this.letGo(value, value.scan);
    return this.window.needMore(value.from, final);
  }

  private endOfContainer(scan: Scan): number {
    advance(scan, this.window.buffer, Number.POSITIVE_INFINITY);
    return scan.end < 0 ? -1 : scan.end + 1;
  }

  private endOfScalar(final: boolean): number {
    const { window } = this;
    if (window.buffer[window.position] === QUOTE) return window.endOfString();
    const end = window.endOfScalar();
    return end < window.buffer.length || final ? end : -1;
  }

  /**
   * Drops the buffered part of a skipped array or object.
   * @throws FileError when one of its strings is longer than a record may be
   */
  private letGo(value: Passed, scan: Scan): void {
    const { buffer } = this.window;
    const quote = buffer.subarray(value.from).lastIndexOf(QUOTE);
    if (!scan.inString) value.stringBytes = 0;
    else if (quote < 0) value.stringBytes += buffer.length - value.from;
    else value.stringBytes = buffer.length - value.from - quote;
    if (value.stringBytes > MAX_RECORD_BYTES) {
      throw new FileError(`A string is longer than ${MAX_RECORD_BYTES} bytes.`, value.line);
    }
    this.moveTo(value, buffer.length);
    value.isCut = true;
  }

  /** Continues at `end`. */
  private moveTo(value: Passed, end: number): void {
    const { window } = this;
    const passed = window.buffer.subarray(value.from, end);
    for (let at = passed.indexOf(NEWLINE); at >= 0; at = passed.indexOf(NEWLINE, at + 1)) window.line++;
    value.from = end;
    window.position = end;
  }

  private finish(value: Passed, end: number): boolean {
    const { from, line, isRecord, isCut } = value;
    this.value = undefined;
    if (end === from && !isCut) throw this.window.invalid('syntax');
    if (isRecord) this.found.push({ line, value: this.withKey(this.withContext(this.window.value(from, end))) });
    else if (!isCut) this.remember(from, end);
    this.moveTo(value, end);
    this.structure.passValue();
    return this.passValue();
  }

  private withContext(value: unknown): unknown {
    const context = this.frames.findLast((frame) => !frame.isArray)?.context;
    if (!context || typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return { ...value, [CONTEXT]: context };
  }

  /** The record of an object keyed by user, with its key; a text in place of a record is the hash. */
  private withKey(value: unknown): unknown {
    const isKeyed = this.paths.some((path) => path.at(-1) === EACH_KEY && path.length === this.path.length);
    const key = { [KEY]: this.path.at(-1) };
    if (!isKeyed || value === null) return value;
    return isFields(value) ? { ...key, ...value } : typeof value === 'string' ? { ...key, hash: value } : value;
  }

  /** Keeps a string of an entered object for the records in it. */
  private remember(from: number, end: number): void {
    const top = this.top();
    if (!top || top.isArray || this.window.buffer[from] !== QUOTE || end - from > LONGEST_CONTEXT) return;
    top.context = { ...top.context, [this.path.at(-1) as string]: this.window.value(from, end) as string };
  }
}

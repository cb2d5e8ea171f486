/**
 * Reads `{"dataOrgs":{"orgs":[{"orgId","humanUsers":[…]}]},"timeout"}` from a stream of bytes, in any key order.
 *
 * Duty: a small JSON reader for the frame, and for the users the scanner of user-array.ts plus JSON.parse over runs of
 * whole entries. Guarantee: memory is bounded by one chunk plus one entry; what is not JSON is refused wherever it stands;
 * problems come in body order, as the last step of what was read before them.
 */
import { isUtf8 } from 'node:buffer';
import { IMPORT_DEPTH_MESSAGE, MAX_DEPTH, ParseError } from './parse-error.ts';
import { advance, type Scan, startScan } from './user-array.ts';

/** One step of reading, in body order. `org` counts the organizations of the body from 0. */
export type Step =
  | { type: 'timeout'; value: unknown }
  | { type: 'orgId'; org: number; value: unknown }
  | { type: 'users'; org: number; entries: unknown[] }
  | { type: 'orgEnd'; org: number; hasId: boolean }
  | { type: 'unknown'; path: string }
  | { type: 'error'; error: ParseError }
  | { type: 'end'; hasDataOrgs: boolean; hasOrgs: boolean; hasTimeout: boolean };

/** One entry may not be larger, as it is held whole. */
export const MAX_ENTRY_BYTES = 8 * 2 ** 20;
/** A name or value of the frame may not be longer. */
const MAX_FRAME_TOKEN = 2 ** 20;

type Kind = 'root' | 'dataOrgs' | 'orgs' | 'org' | 'skip';
type Expect = 'value' | 'firstValue' | 'key' | 'firstKey' | 'colon' | 'comma' | 'done';
interface Frame {
  kind: Kind;
  isArray: boolean;
  key: string;
  seen: Set<string>;
}
type Token = { punctuation: string } | { value: unknown } | undefined;

/** Input takes both spellings (contract section 1). */
const FRAME_KEYS: Partial<Record<Kind, Record<string, string>>> = {
  root: { dataOrgs: 'dataOrgs', data_orgs: 'dataOrgs', timeout: 'timeout' },
  dataOrgs: { orgs: 'orgs' },
  org: { orgId: 'orgId', org_id: 'orgId', humanUsers: 'humanUsers', human_users: 'humanUsers' },
};
const PATH: Partial<Record<Kind, string>> = { root: '', dataOrgs: 'dataOrgs.', org: 'orgs[].' };
/** The container each key of the frame must hold; `timeout` and `orgId` are judged by who reads the step. */
const CONTAINERS: Record<string, { kind: Kind | 'users'; open: string; text: string }> = {
  dataOrgs: { kind: 'dataOrgs', open: '{', text: 'an object' },
  orgs: { kind: 'orgs', open: '[', text: 'an array' },
  humanUsers: { kind: 'users', open: '[', text: 'an array' },
};

export class DataOrgsParser {
  private buffer: Buffer = Buffer.alloc(0);
  private position = 0;
  /** Bytes before `buffer`, for messages. */
  private offset = 0;
  private final = false;
  private failed = false;
  private expect: Expect = 'value';
  private readonly frames: Frame[] = [];
  private org = -1;
  private users: { scan: Scan; start: number; commaBefore: boolean } | undefined;
  private steps: Step[] = [];
  private readonly root = new Set<string>();
  private hasOrgs = false;

  /** Takes the next bytes; answers what could be read from them. After an `error` step nothing more comes. */
  push(chunk: Buffer): Step[] {
    if (this.offset === 0 && this.buffer.length === 0 && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf) {
      chunk = chunk.subarray(3);
    }
    const rest = this.buffer.subarray(this.position);
    this.moveBy(this.position);
    this.buffer = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    return this.run();
  }

  /** The body is over; the last step is `end` or `error`. */
  end(): Step[] {
    this.final = true;
    return this.run();
  }

  private run(): Step[] {
    this.steps = [];
    if (this.failed) return [];
    try {
      this.read();
      if (this.final) this.finish();
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.failed = true;
      this.steps.push({ type: 'error', error });
    }
    return this.steps;
  }

  private read(): void {
    for (;;) {
      if (this.users) {
        if (!this.readUsers()) return;
        continue;
      }
      const token = this.token();
      if (token === undefined) return;
      this.accept(token);
    }
  }

  private finish(): void {
    if (this.expect !== 'done') throw this.notJson(this.offset + this.buffer.length, 'it ends too early');
    this.steps.push({
      type: 'end',
      hasDataOrgs: this.root.has('dataOrgs'),
      hasOrgs: this.hasOrgs,
      hasTimeout: this.root.has('timeout'),
    });
  }

  private moveBy(bytes: number): void {
    this.offset += bytes;
    this.position = 0;
    if (!this.users) return;
    const { scan } = this.users;
    this.users.start -= bytes;
    scan.position -= bytes;
    scan.lastComma -= bytes;
  }

  // --- users -----------------------------------------------------------------------------------------------------

  /** Reads entries up to the last whole one; true when the array ended. */
  private readUsers(): boolean {
    const users = this.users as NonNullable<typeof this.users>;
    const { scan } = users;
    advance(scan, this.buffer, this.frames.length + 1);
    if (scan.end >= 0) {
      this.emitUsers(users.start, scan.end, users.commaBefore);
      this.users = undefined;
      this.position = scan.position;
      this.expect = 'comma';
      return true;
    }
    if (scan.lastComma >= users.start) {
      this.emitUsers(users.start, scan.lastComma, true);
      users.start = scan.lastComma + 1;
      users.commaBefore = true;
    }
    this.position = Math.min(users.start, this.buffer.length);
    if (this.buffer.length - users.start > MAX_ENTRY_BYTES) {
      throw new ParseError('IMPORT-ENTRY-SIZE', `One entry of humanUsers is larger than ${MAX_ENTRY_BYTES} bytes.`);
    }
    return false;
  }

  /** @param mustHold a comma stands before or after, so that there must be an entry */
  private emitUsers(from: number, to: number, mustHold: boolean): void {
    const slice = this.buffer.subarray(from, to);
    const entries = this.parseJson(`[${this.text(slice, from)}]`, this.offset + from) as unknown[];
    if (entries.length > 0) this.steps.push({ type: 'users', org: this.org, entries });
    else if (mustHold) throw this.notJson(this.offset + to, 'an entry of humanUsers is missing beside a comma');
  }

  // --- the frame -------------------------------------------------------------------------------------------------

  private accept(token: NonNullable<Token>): void {
    const mark = 'punctuation' in token ? token.punctuation : '';
    const frame = this.frames.at(-1);
    switch (this.expect) {
      case 'firstValue':
        if (mark === ']') return this.close();
        return this.value(token);
      case 'value':
        return this.value(token);
      case 'firstKey':
        if (mark === '}') return this.close();
        return this.key(token);
      case 'key':
        return this.key(token);
      case 'colon':
        if (mark !== ':') throw this.unexpected();
        this.expect = 'value';
        return;
      case 'comma':
        if (mark === (frame?.isArray ? ']' : '}')) return this.close();
        if (mark !== ',') throw this.unexpected();
        this.expect = frame?.isArray ? 'value' : 'key';
        return;
      case 'done':
        throw this.unexpected();
    }
  }

  private key(token: NonNullable<Token>): void {
    if (!('value' in token) || typeof token.value !== 'string') throw this.unexpected();
    const frame = this.frames.at(-1) as Frame;
    this.expect = 'colon';
    const known = FRAME_KEYS[frame.kind];
    if (!known) {
      frame.key = '';
      return;
    }
    frame.key = Object.hasOwn(known, token.value) ? (known[token.value] as string) : '';
    if (frame.key === '') {
      this.steps.push({ type: 'unknown', path: `${PATH[frame.kind]}${token.value}` });
      return;
    }
    if (frame.seen.has(frame.key)) {
      throw new ParseError('IMPORT-DUPLICATE-KEY', `"${frame.key}" is given twice.`, frame.key);
    }
    frame.seen.add(frame.key);
  }

  private value(token: NonNullable<Token>): void {
    const frame = this.frames.at(-1);
    const mark = 'punctuation' in token ? token.punctuation : '';
    if (mark !== '' && mark !== '{' && mark !== '[') throw this.unexpected();
    if (!frame) return this.rootValue(mark);
    if (frame.kind === 'orgs' && mark !== '{') throw wrongType(`orgs[${this.org + 1}]`, 'an object');
    const container = CONTAINERS[frame.key];
    if (frame.kind !== 'skip' && container) {
      if (mark !== container.open) throw wrongType(frame.key, container.text);
      return this.open(container.kind, mark);
    }
    if (frame.key === 'timeout') this.steps.push({ type: 'timeout', value: 'value' in token ? token.value : null });
    if (frame.key === 'orgId') {
      this.steps.push({ type: 'orgId', org: this.org, value: 'value' in token ? token.value : null });
    }
    if (mark === '') this.expect = 'comma';
    else this.open(frame.kind === 'orgs' ? 'org' : 'skip', mark);
  }

  private rootValue(mark: string): void {
    if (mark !== '{') throw new ParseError('IMPORT-BODY', 'The body must be a JSON object with "dataOrgs" and "timeout".');
    this.open('root', mark);
  }

  private open(kind: Kind | 'users', mark: string): void {
    if (this.frames.length >= MAX_DEPTH) throw new ParseError('IMPORT-DEPTH', IMPORT_DEPTH_MESSAGE);
    if (kind === 'users') {
      this.users = { scan: startScan(this.position), start: this.position, commaBefore: false };
      return;
    }
    if (kind === 'org') this.org++;
    if (kind === 'orgs') this.hasOrgs = true;
    const seen = kind === 'root' ? this.root : new Set<string>();
    this.frames.push({ kind, isArray: mark === '[', key: '', seen });
    this.expect = mark === '[' ? 'firstValue' : 'firstKey';
  }

  private close(): void {
    const frame = this.frames.pop() as Frame;
    if (frame.kind === 'org') this.steps.push({ type: 'orgEnd', org: this.org, hasId: frame.seen.has('orgId') });
    this.expect = this.frames.length === 0 ? 'done' : 'comma';
  }

  // --- tokens ----------------------------------------------------------------------------------------------------

  /** The next token, or undefined when its end is not here yet. */
  private token(): Token {
    const { buffer } = this;
    while (this.position < buffer.length && isSpace(buffer[this.position] as number)) this.position++;
    if (this.position >= buffer.length) return undefined;
    const char = String.fromCharCode(buffer[this.position] as number);
    if ('{}[]:,'.includes(char)) {
      this.position++;
      return { punctuation: char };
    }
    const end = char === '"' ? this.endOfString() : this.endOfScalar();
    if (end < 0) {
      if (buffer.length - this.position > MAX_FRAME_TOKEN) {
        throw new ParseError('IMPORT-BODY', `A text outside of the users is longer than ${MAX_FRAME_TOKEN} bytes.`);
      }
      return undefined;
    }
    const slice = buffer.subarray(this.position, end);
    const value = this.parseJson(this.text(slice, this.position), this.offset + this.position);
    this.position = end;
    return { value };
  }

  private endOfString(): number {
    for (let i = this.position + 1; i < this.buffer.length; i++) {
      const c = this.buffer[i];
      if (c === 0x5c) i++;
      else if (c === 0x22) return i + 1;
    }
    return -1;
  }

  private endOfScalar(): number {
    let i = this.position;
    while (i < this.buffer.length && !isDelimiter(this.buffer[i] as number)) i++;
    return i < this.buffer.length || this.final ? i : -1;
  }

  private text(slice: Buffer, at: number): string {
    if (!isUtf8(slice)) throw this.notJson(this.offset + at, 'it is not valid UTF-8');
    return slice.toString('utf8');
  }

  private parseJson(text: string, at: number): unknown {
    try {
      return JSON.parse(text);
    } catch {
      throw this.notJson(at, 'there is a syntax error');
    }
  }

  private unexpected(): ParseError {
    return this.notJson(this.offset + this.position, 'there is a syntax error');
  }

  private notJson(at: number, what: string): ParseError {
    return new ParseError('IMPORT-JSON', `The body is not valid JSON: ${what} at or after byte ${at}.`);
  }
}

function isSpace(c: number): boolean {
  return c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09;
}

function isDelimiter(c: number): boolean {
  return isSpace(c) || c === 0x2c || c === 0x7d || c === 0x5d || c === 0x3a || c === 0x22 || c === 0x7b || c === 0x5b;
}

function wrongType(field: string, type: string): ParseError {
  return new ParseError('IMPORT-BODY', `"${field}" must be ${type}.`, field);
}

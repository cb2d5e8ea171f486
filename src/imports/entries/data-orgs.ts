/**
 * Parses `{"dataOrgs":{"orgs":[{"orgId","humanUsers":[…]}]},"timeout"}` from a byte stream, with keys in any order.
 *
 * Duty: parses everything around the users (the frame) part by part. For the users, `advance` of text/json-stream.ts
 * finds where entries end, and JSON.parse reads runs of whole entries. Guarantee: memory is bounded by one chunk plus
 * twice one entry; the work per byte is bounded, however small the chunks are; invalid JSON is refused wherever it
 * is; a problem comes in body order, as the last step after all that precedes it.
 */
import {
  advance,
  CLOSE_ARRAY,
  JsonStructure,
  nestsDeeper,
  type Scan,
  shift,
  startScan,
} from '../../platform/text/json-stream.ts';
import {
  type BodyParser,
  BodyWindow,
  type EntryFinder,
  IMPORT_DEPTH_MESSAGE,
  MAX_DEPTH,
  MAX_ENTRY_BYTES,
  ParseError,
  type Step,
} from './parser.ts';

type Kind = 'root' | 'dataOrgs' | 'orgs' | 'org' | 'skip';

interface Frame {
  kind: Kind;
  /** The known key whose value comes next; empty for an unknown one. */
  key: string;
  seen: Set<string>;
}

/** Input may be camelCase or snake_case. */
const FRAME_KEYS: Partial<Record<Kind, Record<string, string>>> = {
  root: { dataOrgs: 'dataOrgs', data_orgs: 'dataOrgs', timeout: 'timeout' },
  dataOrgs: { orgs: 'orgs' },
  org: { orgId: 'orgId', org_id: 'orgId', humanUsers: 'humanUsers', human_users: 'humanUsers' },
};

/**
 * Names that are sent instead of `humanUsers`, without case and `_`. They refuse the body: with a warning only, the
 * users of the organization would be missing without anybody noticing.
 */
const MISTYPED = new Set(['users', 'user', 'humanusers', 'humanuser', 'humans', 'people']);

/** Unknown keys of the body that a later one is compared with, and their characters. */
const MOST_REMEMBERED = 1000;

/**
 * The fast ways to read entries begin at an unfinished entry again. They are tried only while it is at most this many
 * times as long as the bytes that have arrived; the scan, which continues where it was, reads any other.
 */
const MOST_READ_AGAIN = 4;

const LINES =
  'The body is more than one JSON object. Send lines of users with Content-Type: application/x-ndjson and ?timeout=30m.';
const PATH: Partial<Record<Kind, string>> = { root: '', dataOrgs: 'dataOrgs.', org: 'orgs[].' };

/** The container each key of the frame must hold. `timeout` and `orgId` are validated by the reader of their step. */
const CONTAINERS: Record<string, { kind: Kind | 'users'; mark: string; text: string }> = {
  dataOrgs: { kind: 'dataOrgs', mark: '{', text: 'an object' },
  orgs: { kind: 'orgs', mark: '[', text: 'an array' },
  humanUsers: { kind: 'users', mark: '[', text: 'an array' },
};

/** How many bytes before and after a comma between two entries are remembered, see `LastComma`. */
const BEFORE = 1;
const BEHIND = 9;
const MOST_MISSES = 3;

export class DataOrgsParser implements BodyParser {
  readonly entryPath = 'orgs[].humanUsers[].';
  private readonly window = new BodyWindow();
  private readonly structure = new JsonStructure();
  private readonly frames: Frame[] = [];
  private readonly rootKeys = new Set<string>();
  /** The body's object has ended. */
  private ended = false;
  /** The length of the last chunk. */
  private arrived = 0;
  private org = -1;
  private hasOrgs = false;
  private users: { scan: Scan; start: number; afterComma: boolean } | undefined;
  private readonly lastComma = new LastComma();
  private shapes: EntryFinder | undefined;
  private steps: Step[] = [];
  private failed = false;

  findShaped(finder: EntryFinder): void {
    this.shapes = finder;
  }

  push(chunk: Buffer): Step[] {
    this.arrived = chunk.length;
    const moved = this.window.append(chunk);
    if (this.users) {
      this.users.start -= moved;
      shift(this.users.scan, moved);
    }
    return this.run();
  }

  end(): Step[] {
    this.window.final = true;
    return this.run();
  }

  private run(): Step[] {
    this.steps = [];
    if (this.failed) return [];
    try {
      this.read();
      if (this.window.final) this.finish();
    } catch (error) {
      if (!(error instanceof ParseError)) throw error;
      this.failed = true;
      this.steps.push({ type: 'error', error });
    }
    return this.steps;
  }

  private read(): void {
    for (;;) {
      if (!(this.users ? this.readUsers() : this.readPart())) return;
    }
  }

  /** Reads a part of the frame; false when it has not arrived as a whole. */
  private readPart(): boolean {
    const part = this.structure.next(this.window);
    if (part === undefined) return false;
    if (this.ended) throw this.afterEnd();
    if (part === 'key') return this.key();
    return part === 'value' ? this.value() : this.close();
  }

  private afterEnd(): ParseError {
    const isLines = !this.rootKeys.has('dataOrgs') && this.window.bracket() === '{';
    return isLines ? new ParseError('IMPORT-FORMAT', LINES) : this.window.invalid('syntax');
  }

  private finish(): void {
    const { window, rootKeys, hasOrgs } = this;
    // Bytes left over belong to a token without an end, inside the body or after it.
    const complete = this.ended && window.position >= window.buffer.length;
    if (!complete) throw window.notJson(window.buffer.length, 'it ends before it is complete');
    this.steps.push({
      type: 'end',
      hasDataOrgs: rootKeys.has('dataOrgs'),
      hasOrgs,
      hasTimeout: rootKeys.has('timeout'),
    });
  }

  /** Reads entries up to the last whole one; true when the array ended. */
  private readUsers(): boolean {
    const users = this.users as NonNullable<typeof this.users>;
    const { window } = this;
    if (this.isWorthReading(users.start) && (this.emitShaped(users.start) || this.emitGuessed(users.start))) {
      users.start = window.position;
      users.scan = startScan(users.start);
      users.afterComma = true;
    }
    const { scan } = users;
    advance(scan, window.buffer, this.room);
    if (scan.end >= 0) {
      this.emitUsers(users.start, scan.end, users.afterComma);
      // The scanner also stops at `}`.
      if (window.buffer[scan.end] !== CLOSE_ARRAY) throw window.invalid('syntax', scan.end);
      this.users = undefined;
      window.position = scan.position;
      this.structure.passValue();
      return true;
    }
    if (scan.lastComma >= users.start) {
      this.emitUsers(users.start, scan.lastComma, true);
      this.lastComma.learn(window.buffer, scan.lastComma);
      users.start = scan.lastComma + 1;
      users.afterComma = true;
    }
    if (scan.tooDeep) throw new ParseError('IMPORT-DEPTH', IMPORT_DEPTH_MESSAGE);
    window.position = users.start;
    if (window.buffer.length - users.start > MAX_ENTRY_BYTES) {
      throw new ParseError('IMPORT-ENTRY-SIZE', `Each entry of humanUsers must be at most ${MAX_ENTRY_BYTES} bytes.`);
    }
    return false;
  }

  /** How deep an entry may nest. */
  private get room(): number {
    return MAX_DEPTH - this.frames.length - 1;
  }

  private isWorthReading(from: number): boolean {
    return this.window.buffer.length - from <= MOST_READ_AGAIN * this.arrived;
  }

  /**
   * Emits the entries up to the guessed last comma. If there is no guess or it is wrong, emits nothing and returns
   * false.
   */
  private emitGuessed(from: number): boolean {
    const { window, lastComma } = this;
    const comma = lastComma.guess(window.buffer, from);
    if (comma < 0) return false;
    const text = window.textIfUtf8(from, comma);
    const entries = text === undefined ? undefined : entriesOf(text);
    if (!text || !entries || entries.length === 0 || entries.some((entry) => nestsDeeper(entry, this.room))) {
      lastComma.miss();
      return false;
    }
    this.steps.push({ type: 'users', org: this.org, entries, plain: !text.includes('\\') });
    this.shapes?.learn(window.buffer, from, comma);
    window.position = comma + 1;
    return true;
  }

  /** Emits entries of known shape; false if the next one is not. */
  private emitShaped(from: number): boolean {
    const shaped = this.shapes?.read(this.window.buffer, from);
    if (!shaped) return false;
    this.steps.push({ type: 'shaped', org: this.org, shaped });
    this.window.position = shaped.next;
    return true;
  }

  /** @param mustHold a comma precedes or follows, so that there must be an entry */
  private emitUsers(from: number, to: number, mustHold: boolean): void {
    const { window } = this;
    const text = window.text(from, to);
    const entries = window.parse(`[${text}]`, from) as unknown[];
    if (entries.length > 0) {
      this.steps.push({ type: 'users', org: this.org, entries, plain: !text.includes('\\') });
      this.shapes?.learn(window.buffer, from, to);
    } else if (mustHold) throw window.notJson(to, 'an entry of humanUsers is missing before or after a comma');
  }

  private key(): boolean {
    const name = this.window.scalar()?.value as string | undefined;
    if (name === undefined) return false;
    this.structure.passKey();
    const frame = this.frames.at(-1) as Frame;
    const known = FRAME_KEYS[frame.kind];
    frame.key = known && Object.hasOwn(known, name) ? (known[name] as string) : '';
    if (!known) return true;
    if (frame.key === '') this.unknown(frame, name);
    else if (frame.seen.has(frame.key)) {
      throw new ParseError('IMPORT-DUPLICATE-KEY', `"${frame.key}" must be given only once.`, frame.key);
    } else frame.seen.add(frame.key);
    return true;
  }

  private unknown({ kind, seen }: Frame, name: string): void {
    const key = `unknown ${name}`;
    if (kind === 'root' && seen.has(key)) {
      throw new ParseError('IMPORT-DUPLICATE-KEY', `"${name}" must be given only once.`, name);
    }
    if (kind === 'root' && seen.size < MOST_REMEMBERED && name.length < MOST_REMEMBERED) seen.add(key);
    if (kind === 'org' && name.length < 20 && MISTYPED.has(name.replaceAll('_', '').toLowerCase())) {
      const message = `The users of an organization must be in "humanUsers", not in "${name}".`;
      throw new ParseError('IMPORT-BODY', message, `dataOrgs.orgs[${this.org}].${name}`);
    }
    this.steps.push({ type: 'unknown', path: `${PATH[kind]}${name}` });
  }

  private value(): boolean {
    const bracket = this.window.bracket();
    const scalar = bracket ? { value: null } : this.window.scalar();
    if (!scalar) return false;
    const kind = this.kindOf(bracket, scalar.value);
    if (bracket) this.open(kind, bracket);
    else this.structure.passValue();
    return true;
  }

  /** The kind of the array or object that begins here. @throws ParseError when the value has the wrong type */
  private kindOf(bracket: '[' | '{' | undefined, value: unknown): Kind | 'users' {
    const frame = this.frames.at(-1);
    if (!frame) {
      if (bracket !== '{') throw wrongType('', 'an object');
      return 'root';
    }
    const container = CONTAINERS[frame.key];
    if (container) {
      if (bracket !== container.mark) throw wrongType(frame.key, container.text);
      return container.kind;
    }
    if (frame.kind === 'orgs' && bracket !== '{') throw wrongType(`orgs[${this.org + 1}]`, 'an object');
    if (frame.key === 'timeout') this.steps.push({ type: 'timeout', value });
    if (frame.key === 'orgId') this.steps.push({ type: 'orgId', org: this.org, value });
    return frame.kind === 'orgs' ? 'org' : 'skip';
  }

  private open(kind: Kind | 'users', bracket: '[' | '{'): void {
    if (this.frames.length >= MAX_DEPTH) throw new ParseError('IMPORT-DEPTH', IMPORT_DEPTH_MESSAGE);
    if (kind === 'users') {
      const start = ++this.window.position;
      this.users = { scan: startScan(start), start, afterComma: false };
      return;
    }
    if (kind === 'org') this.org++;
    if (kind === 'orgs') this.hasOrgs = true;
    this.frames.push({ kind, key: '', seen: kind === 'root' ? this.rootKeys : new Set<string>() });
    this.structure.enter(this.window, bracket === '[');
  }

  private close(): boolean {
    const frame = this.frames.pop() as Frame;
    if (frame.kind === 'org') this.steps.push({ type: 'orgEnd', org: this.org, hasId: frame.seen.has('orgId') });
    this.ended = this.frames.length === 0;
    return true;
  }
}

/** Undefined when it is not JSON. */
function entriesOf(text: string): unknown[] | undefined {
  try {
    return JSON.parse(`[${text}]`) as unknown[];
  } catch {
    return undefined; // the scanner then finds what is wrong, and where
  }
}

function wrongType(field: string, type: string): ParseError {
  const what = field === '' ? 'The body' : `"${field}"`;
  return new ParseError('IMPORT-BODY', `${what} must be ${type}.`, field === '' ? undefined : field);
}

/**
 * Guesses where the last comma between two entries of `humanUsers` is, from the bytes around an earlier such comma.
 *
 * Programs write bodies and begin each entry with the same bytes. Searching backwards for these bytes is a thousand
 * times faster than reading every byte. The guess may be wrong, as the same bytes can occur inside a string or a nested
 * object. It is right if the text before it is valid JSON, because a text that ends inside a string or a container
 * never is. After three wrong guesses no more are made.
 */
export class LastComma {
  private between: Buffer | undefined;
  private misses = 0;
  /** Holds no further comma, so a chunk with many short arrays is not searched again for each of them. */
  private exhausted: Buffer | undefined;

  /** Remembers the bytes around a comma that lies between two entries. */
  learn(buffer: Buffer, comma: number): void {
    if (this.between || comma < BEFORE || comma + BEHIND >= buffer.length) return;
    this.between = Buffer.from(buffer.subarray(comma - BEFORE, comma + BEHIND));
  }

  /** The guessed position of the last comma, or -1. @param from no less than before in the same buffer */
  guess(buffer: Buffer, from: number): number {
    if (!this.between || this.misses >= MOST_MISSES || buffer === this.exhausted) return -1;
    const at = buffer.lastIndexOf(this.between);
    if (at >= from) return at + BEFORE;
    this.exhausted = buffer;
    return -1;
  }

  /** Reports that the last guess was wrong. */
  miss(): void {
    this.misses++;
  }
}

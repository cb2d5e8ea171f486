/**
 * Parses `{"dataOrgs":{"orgs":[{"orgId","humanUsers":[…]}]},"timeout"}` from a byte stream, with keys in any order.
 *
 * Duty: parses everything around the users (the frame) token by token. For the users, user-array.ts finds where entries
 * end, and JSON.parse reads runs of whole entries. Guarantee: memory is bounded by one chunk plus one entry; invalid
 * JSON is refused wherever it is; a problem comes in body order, as the last step after all that precedes it.
 */
import { JsonWindow, type Token } from './json-window.ts';
import { LastComma } from './last-comma.ts';
import { IMPORT_DEPTH_MESSAGE, MAX_DEPTH, ParseError } from './parse-error.ts';
import { type BodyParser, MAX_ENTRY_BYTES, type Step } from './step.ts';
import { advance, nestsDeeper, type Scan, startScan } from './user-array.ts';

/** The scanner stops at `]` and at `}`. */
const CLOSE_ARRAY = ']'.charCodeAt(0);

type Kind = 'root' | 'dataOrgs' | 'orgs' | 'org' | 'skip';
type Expect = 'value' | 'firstValue' | 'key' | 'firstKey' | 'colon' | 'comma' | 'done';
interface Frame {
  kind: Kind;
  isArray: boolean;
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
const PATH: Partial<Record<Kind, string>> = { root: '', dataOrgs: 'dataOrgs.', org: 'orgs[].' };
/** The container each key of the frame must hold. `timeout` and `orgId` are validated by the reader of their step. */
const CONTAINERS: Record<string, { kind: Kind | 'users'; mark: string; text: string }> = {
  dataOrgs: { kind: 'dataOrgs', mark: '{', text: 'an object' },
  orgs: { kind: 'orgs', mark: '[', text: 'an array' },
  humanUsers: { kind: 'users', mark: '[', text: 'an array' },
};

export class DataOrgsParser implements BodyParser {
  readonly entryPath = 'orgs[].humanUsers[].';
  private readonly window = new JsonWindow();
  private readonly frames: Frame[] = [];
  private readonly rootKeys = new Set<string>();
  private expect: Expect = 'value';
  private org = -1;
  private hasOrgs = false;
  private users: { scan: Scan; start: number; afterComma: boolean } | undefined;
  private readonly lastComma = new LastComma();
  private steps: Step[] = [];
  private failed = false;

  push(chunk: Buffer): Step[] {
    const moved = this.window.append(chunk);
    if (this.users) {
      this.users.start -= moved;
      this.users.scan.position -= moved;
      this.users.scan.lastComma -= moved;
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
      if (this.users) {
        if (!this.readUsers()) return;
        continue;
      }
      const token = this.window.token();
      if (token === undefined) return;
      this.accept(token);
    }
  }

  private finish(): void {
    const { window, rootKeys, hasOrgs } = this;
    // Bytes left over belong to a token without an end, inside the body or after it.
    const complete = this.expect === 'done' && window.position >= window.buffer.length;
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
    if (this.emitGuessed(users.start)) {
      users.start = window.position;
      users.scan = startScan(users.start);
      users.afterComma = true;
    }
    const { scan } = users;
    advance(scan, window.buffer, this.frames.length + 1);
    if (scan.end >= 0) {
      this.emitUsers(users.start, scan.end, users.afterComma);
      if (window.buffer[scan.end] !== CLOSE_ARRAY) throw window.notJson(scan.end, 'there is a syntax error');
      this.users = undefined;
      window.position = scan.position;
      this.expect = 'comma';
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

  /** Emits the entries up to the guessed last comma. Returns false, and emits nothing, without a right guess. */
  private emitGuessed(from: number): boolean {
    const { window, lastComma } = this;
    const comma = lastComma.guess(window.buffer, from);
    if (comma < 0) return false;
    const text = window.textIfUtf8(from, comma);
    const entries = text === undefined ? undefined : entriesOf(text);
    const room = MAX_DEPTH - this.frames.length - 1;
    if (!text || !entries || entries.length === 0 || entries.some((entry) => nestsDeeper(entry, room))) {
      lastComma.miss();
      return false;
    }
    this.steps.push({ type: 'users', org: this.org, entries, plain: !text.includes('\\') });
    window.position = comma + 1;
    return true;
  }

  /** @param mustHold a comma precedes or follows, so that there must be an entry */
  private emitUsers(from: number, to: number, mustHold: boolean): void {
    const { window } = this;
    const text = window.text(from, to);
    const entries = window.parse(`[${text}]`, from) as unknown[];
    if (entries.length > 0) this.steps.push({ type: 'users', org: this.org, entries, plain: !text.includes('\\') });
    else if (mustHold) throw window.notJson(to, 'an entry of humanUsers is missing before or after a comma');
  }

  private accept(token: Token): void {
    const { mark } = token;
    const isArray = this.frames.at(-1)?.isArray ?? false;
    switch (this.expect) {
      case 'firstValue':
        if (mark === ']') this.close();
        else this.value(token);
        break;
      case 'value':
        this.value(token);
        break;
      case 'firstKey':
        if (mark === '}') this.close();
        else this.key(token);
        break;
      case 'key':
        this.key(token);
        break;
      case 'colon':
        if (mark !== ':') throw this.window.unexpected();
        this.expect = 'value';
        break;
      case 'comma':
        if (mark === (isArray ? ']' : '}')) this.close();
        else if (mark === ',') this.expect = isArray ? 'value' : 'key';
        else throw this.window.unexpected();
        break;
      case 'done':
        throw this.window.unexpected();
    }
  }

  private key(token: Token): void {
    if (!('value' in token) || typeof token.value !== 'string') throw this.window.unexpected();
    const frame = this.frames.at(-1) as Frame;
    const known = FRAME_KEYS[frame.kind];
    this.expect = 'colon';
    frame.key = known && Object.hasOwn(known, token.value) ? (known[token.value] as string) : '';
    if (!known) return;
    if (frame.key === '') this.steps.push({ type: 'unknown', path: `${PATH[frame.kind]}${token.value}` });
    else if (frame.seen.has(frame.key)) {
      throw new ParseError('IMPORT-DUPLICATE-KEY', `"${frame.key}" must be given only once.`, frame.key);
    } else frame.seen.add(frame.key);
  }

  private value(token: Token): void {
    const { mark } = token;
    if (mark !== '' && mark !== '{' && mark !== '[') throw this.window.unexpected();
    const frame = this.frames.at(-1);
    const container = frame ? CONTAINERS[frame.key] : undefined;
    const scalar = 'value' in token ? token.value : null;
    if (!frame) {
      if (mark !== '{') throw wrongType('', 'an object');
      this.open('root', mark);
    } else if (container) {
      if (mark !== container.mark) throw wrongType(frame.key, container.text);
      this.open(container.kind, mark);
    } else {
      if (frame.kind === 'orgs' && mark !== '{') throw wrongType(`orgs[${this.org + 1}]`, 'an object');
      if (frame.key === 'timeout') this.steps.push({ type: 'timeout', value: scalar });
      if (frame.key === 'orgId') this.steps.push({ type: 'orgId', org: this.org, value: scalar });
      if (mark === '') this.expect = 'comma';
      else this.open(frame.kind === 'orgs' ? 'org' : 'skip', mark);
    }
  }

  private open(kind: Kind | 'users', mark: string): void {
    if (this.frames.length >= MAX_DEPTH) throw new ParseError('IMPORT-DEPTH', IMPORT_DEPTH_MESSAGE);
    if (kind === 'users') {
      const { position } = this.window;
      this.users = { scan: startScan(position), start: position, afterComma: false };
      return;
    }
    if (kind === 'org') this.org++;
    if (kind === 'orgs') this.hasOrgs = true;
    const seen = kind === 'root' ? this.rootKeys : new Set<string>();
    this.frames.push({ kind, isArray: mark === '[', key: '', seen });
    this.expect = mark === '[' ? 'firstValue' : 'firstKey';
  }

  private close(): void {
    const frame = this.frames.pop() as Frame;
    if (frame.kind === 'org') this.steps.push({ type: 'orgEnd', org: this.org, hasId: frame.seen.has('orgId') });
    this.expect = this.frames.length === 0 ? 'done' : 'comma';
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

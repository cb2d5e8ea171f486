/**
 * The layout of an entry: which fields it has in which order, and the bytes between their values.
 *
 * Only layouts of common entries exist: known camelCase fields, each at most once, with strings, `true` and `false` as
 * values, and what every user needs.
 */
import { BACKSLASH, CLOSE_OBJECT, COLON, COMMA, OPEN_OBJECT, QUOTE } from '../../streaming/json-window.ts';

export interface Field {
  readonly path: string;
  /** Its value is `true` or `false`; otherwise a string. */
  readonly isFlag: boolean;
}

export interface Layout {
  readonly fields: readonly Field[];
  /** The bytes before each value and after the last one, with the quotes of strings. */
  readonly between: readonly Buffer[];
  /** The position of each known field in `fields`, in the order of FIELDS; -1: the entry has none. */
  readonly places: readonly number[];
}

const TEXTS = [
  ...['userId', 'state', 'user.userName', 'user.profile.firstName', 'user.profile.lastName', 'user.profile.nickName'],
  ...['user.profile.displayName', 'user.profile.preferredLanguage', 'user.profile.gender', 'user.email.email'],
  ...['user.phone.phone', 'user.hashedPassword.value'],
] as const;
const FLAGS = ['user.email.isEmailVerified', 'user.phone.isPhoneVerified', 'user.passwordChangeRequired'] as const;

/** The known fields of a common entry. */
export const FIELDS = [...TEXTS, ...FLAGS];
const REQUIRED = ['userId', 'user.profile.firstName', 'user.profile.lastName', 'user.email.email'];
/** The objects, each with the field without which it is invalid. */
const OBJECTS: Record<string, string> = {
  '': 'userId',
  user: 'user.email.email',
  'user.profile': 'user.profile.firstName',
  'user.email': 'user.email.email',
  'user.phone': 'user.phone.phone',
  'user.hashedPassword': 'user.hashedPassword.value',
};
const [TRUE_START, FALSE_START] = [0x74, 0x66];
const LENGTHS: Record<number, number> = { [TRUE_START]: 4, [FALSE_START]: 5 };

/** The layout of the entry that begins at `from`, of valid JSON; undefined if it is not a common one. */
export function layoutOf(json: Buffer, from: number): Layout | undefined {
  const reader = new LayoutReader(json, from);
  return reader.object('') ? reader.layout() : undefined;
}

class LayoutReader {
  private readonly json: Buffer;
  private at: number;
  private copied: number;
  private readonly fields: Field[] = [];
  private readonly between: Buffer[] = [];
  private readonly objects = new Set<string>();

  constructor(json: Buffer, from: number) {
    this.json = json;
    this.at = from;
    this.copied = this.skipSpace();
  }

  layout(): Layout | undefined {
    const has = (path: string) => this.fields.some((field) => field.path === path);
    const needed = [...REQUIRED, ...[...this.objects].map((path) => OBJECTS[path] as string)];
    if (!needed.every(has)) return undefined;
    this.pass(this.at);
    const places = FIELDS.map((path) => this.fields.findIndex((field) => field.path === path));
    return { fields: this.fields, between: this.between, places };
  }

  /** Passes an object; false if it is not part of a common entry. */
  object(path: string): boolean {
    if (!Object.hasOwn(OBJECTS, path) || this.objects.has(path) || this.skipTo(OPEN_OBJECT) < 0) return false;
    this.objects.add(path);
    do {
      const key = this.text();
      if (key === undefined || this.skipTo(COLON) < 0) return false;
      if (!this.value(path === '' ? key : `${path}.${key}`)) return false;
    } while (this.skipTo(COMMA) >= 0);
    return this.skipTo(CLOSE_OBJECT) >= 0;
  }

  private value(path: string): boolean {
    const start = this.skipSpace();
    const byte = this.json[start] as number;
    if (byte === OPEN_OBJECT) return this.object(path);
    const isFlag = byte !== QUOTE;
    const known: readonly string[] = isFlag ? FLAGS : TEXTS;
    if (!known.includes(path) || this.fields.some((field) => field.path === path)) return false;
    this.fields.push({ path, isFlag });
    this.pass(isFlag ? start : start + 1);
    if (isFlag) this.at += LENGTHS[byte] ?? 0;
    else if (this.text() === undefined) return false;
    this.copied = isFlag ? this.at : this.at - 1;
    return !isFlag || byte in LENGTHS;
  }

  /** Keeps the bytes up to here as those between two values. */
  private pass(end: number): void {
    this.between.push(Buffer.from(this.json.subarray(this.copied, end)));
  }

  /** Passes a string and returns its text; undefined with an escape. */
  private text(): string | undefined {
    const start = this.skipTo(QUOTE);
    const end = this.json.indexOf(QUOTE, start);
    if (start < 0 || end < 0 || this.json.subarray(start, end).includes(BACKSLASH)) return undefined;
    this.at = end + 1;
    return this.json.toString('utf8', start, end);
  }

  /** Passes white space and the byte; returns the position after it, or -1 if another one is there. */
  private skipTo(byte: number): number {
    if (this.json[this.skipSpace()] !== byte) return -1;
    return ++this.at;
  }

  private skipSpace(): number {
    while ([0x20, 0x0a, 0x0d, 0x09].includes(this.json[this.at] as number)) this.at++;
    return this.at;
  }
}

/**
 * What the parsers of import bodies have in common: their steps, which are the same for every format, their limits, and
 * the window over the bytes with the errors of the API.
 */
import type { IdOf } from '../../platform/errors.ts';
import { type Invalid, JsonWindow, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../platform/text/json-stream.ts';

/** How deep objects and arrays may nest, including the body itself. */
export const MAX_DEPTH = 64;
export const IMPORT_DEPTH_MESSAGE = `The body must not nest objects and arrays deeper than ${MAX_DEPTH} levels.`;

/** The most bytes of one entry, which is held in memory as a whole. */
export const MAX_ENTRY_BYTES = 8 * 2 ** 20;

/** The most bytes of a name or value outside of the users. */
const MAX_TOKEN = 2 ** 20;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** A parser of import bodies: of `dataOrgs` JSON, or of NDJSON. */
export interface BodyParser {
  /** The prefix of an entry's fields in the paths of warnings. */
  readonly entryPath: string;
  /** From now on, entries that the finder knows come unparsed, as steps of type `shaped`. Absent: none ever do. */
  findShaped?(finder: EntryFinder): void;
  /** Takes the next bytes; returns the steps that they complete. After an `error` step there are no more. */
  push(chunk: Buffer): Step[];
  /** Ends the body; the last step is `end` or `error`. */
  end(): Step[];
}

/** One step of the parse, in body order. `org` numbers the organizations of the body from 0. */
export type Step =
  | { type: 'timeout'; value: unknown }
  /** `line`: its line number, in an NDJSON body. */
  | { type: 'orgId'; org: number; value: unknown; line?: number }
  /** `plain`: no string of these entries was written with an escape, so none holds a control character. */
  | { type: 'users'; org: number; entries: unknown[]; plain: boolean }
  /** Users whose entries are found but not parsed; only after `findShaped`. */
  | { type: 'shaped'; org: number; shaped: ShapedEntries }
  | { type: 'orgEnd'; org: number; hasId: boolean }
  | { type: 'unknown'; path: string }
  | { type: 'error'; error: ParseError }
  | { type: 'end'; hasDataOrgs: boolean; hasOrgs: boolean; hasTimeout: boolean };

/** Finds entries in the bytes of a body without parsing them; see `intake/fast`. */
export interface EntryFinder {
  /**
   * Learns from a parsed entry.
   * @param from where it begins.
   * @param to what lies before is valid JSON and holds all of it
   */
  learn(bytes: Buffer, from: number, to: number): void;
  /** Reads entries up to the first that it does not know or that has no comma behind it. Undefined without any. */
  read(bytes: Buffer, from: number): ShapedEntries | undefined;
}

/** Whole entries, one after the other, which were found but not parsed. */
export interface ShapedEntries {
  bytes: Buffer;
  /** The fields of the layouts that occur, and where each known field is among them. */
  layouts: readonly { readonly fields: readonly unknown[]; readonly places: readonly number[] }[];
  /**
   * For each entry: the number of its layout, where it starts and ends, and where each value starts and ends, in the
   * order of the layout.
   */
  marks: number[];
  /** The position after the comma that follows the last of them. */
  next: number;
}

/** A problem that refuses the whole body: its stable id, the public message and the invalid field, if any. */
export class ParseError extends Error {
  readonly id: IdOf<'INVALID_ARGUMENT'>;
  readonly field: string | undefined;
  constructor(id: IdOf<'INVALID_ARGUMENT'>, message: string, field?: string) {
    super(message);
    this.id = id;
    this.field = field;
  }
}

/** The window over the body of an import, with the errors of the API. */
export class BodyWindow extends JsonWindow {
  /** The last byte of the body is in `buffer`. */
  final = false;

  override peek(): number | undefined {
    if (this.offset === 0 && this.position === 0 && this.buffer.subarray(0, 3).equals(BOM)) this.position = 3;
    return super.peek();
  }

  /**
   * Consumes the string, number or literal at `position`. Undefined when its end has not arrived yet.
   * @throws ParseError
   */
  scalar(): { value: unknown } | undefined {
    const { position, buffer } = this;
    const end = buffer[position] === QUOTE ? this.endOfString() : this.endOfScalar();
    const isComplete = end >= 0 && (end < buffer.length || this.final || buffer[position] === QUOTE);
    if ((end < 0 ? buffer.length : end) - position > MAX_TOKEN) {
      throw new ParseError(
        'IMPORT-BODY',
        `Each name and value outside of the users must be at most ${MAX_TOKEN} bytes.`,
      );
    }
    if (!isComplete) return undefined;
    const value = this.parse(this.text(position, end), position);
    this.position = end;
    return { value };
  }

  /** `[`, `{`, or neither. */
  bracket(): '[' | '{' | undefined {
    const byte = this.buffer[this.position];
    if (byte === OPEN_ARRAY) return '[';
    return byte === OPEN_OBJECT ? '{' : undefined;
  }

  invalid(what: Invalid, at: number = this.position): ParseError {
    return this.notJson(at, what === 'utf8' ? 'it is not valid UTF-8' : 'there is a syntax error');
  }

  /** @param at position in `buffer` */
  notJson(at: number, what: string): ParseError {
    return new ParseError('REQUEST-JSON', `The body is not valid JSON: ${what} at or after byte ${this.offset + at}.`);
  }
}

const FIELDS = new Set(['userId', 'user_id', 'state', 'user']);
const DOCUMENT = ['dataOrgs', 'data_orgs'];
/** Unknown fields that an error names, and how much of each. */
const MOST_NAMED = 10;
const MOST_CHARACTERS = 100;

/**
 * What is wrong with a line that names no organization: often it is not a line of users at all, and its fields show it.
 * Follows `Line 1: `.
 *
 * @param id the `orgId` of the line, which is not a string
 * @param entry its other fields
 */
export function noOrg(id: unknown, entry: object): string {
  const others = Object.keys(entry).filter((name) => !FIELDS.has(name));
  if (others.some((name) => DOCUMENT.includes(name)))
    return 'the line is a whole body with dataOrgs. Send it with Content-Type: application/json.';
  if (id !== undefined && id !== null) return 'orgId must be a string.';
  const named = others.slice(0, MOST_NAMED).map((name) => `"${name.slice(0, MOST_CHARACTERS).toWellFormed()}"`);
  return named.length === 0 ? 'orgId is required.' : `orgId is required; not known: ${named.join(', ')}.`;
}

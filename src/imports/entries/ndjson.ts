/**
 * Parses `application/x-ndjson`: each line is one user, `{"orgId", "userId", "state", "user"}`, in any order.
 *
 * Guarantee: returns the same steps as the `dataOrgs` parser for the same users, with organizations numbered in order
 * of first mention; memory is bounded by one chunk plus one line; one broken line refuses the whole body, and the
 * message names it.
 */
import { isUtf8 } from 'node:buffer';
import { advance, startScan } from '../../platform/text/json-stream.ts';
import { Lines } from '../../platform/text/lines.ts';
import {
  type BodyParser,
  IMPORT_DEPTH_MESSAGE,
  MAX_DEPTH,
  MAX_ENTRY_BYTES,
  noOrg,
  ParseError,
  type Step,
} from './parser.ts';

type Users = Extract<Step, { type: 'users' }>;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const BLANK = /^[ \t\r]*$/;

export class NdjsonParser implements BodyParser {
  /** Warnings name unknown fields by their path in the line. */
  readonly entryPath = '';
  private readonly lines = new Lines();
  private readonly orgs = new Map<string, number>();
  private steps: Step[];
  private users: Users | undefined;
  private failed = false;

  /** @param timeout from the query, so it is the first step; the reader of the step validates it */
  constructor(timeout: unknown) {
    this.steps = [{ type: 'timeout', value: timeout }];
  }

  push(chunk: Buffer): Step[] {
    return this.run(() => {
      for (const bytes of this.lines.push(chunk)) this.take(bytes);
      const { number, bytes } = this.lines.unfinished;
      if (bytes > MAX_ENTRY_BYTES) throw tooLong(number);
    });
  }

  end(): Step[] {
    return this.run(() => {
      for (const bytes of this.lines.rest()) this.take(bytes);
      if (this.orgs.size === 0)
        throw new ParseError('IMPORT-BODY', 'The body must contain at least one line with a user.');
      this.flush();
      this.steps.push({ type: 'end', hasDataOrgs: true, hasOrgs: true, hasTimeout: true });
    });
  }

  private run(read: () => void): Step[] {
    if (this.failed) return [];
    let error: ParseError | undefined;
    try {
      read();
    } catch (caught) {
      if (!(caught instanceof ParseError)) throw caught;
      error = caught;
      this.failed = true;
    }
    this.flush();
    const { steps } = this;
    if (error) steps.push({ type: 'error', error });
    this.steps = [];
    return steps;
  }

  private get line(): number {
    return this.lines.number;
  }

  private take(bytes: Buffer): void {
    const text = this.text(this.line === 1 && bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes);
    if (BLANK.test(text)) return; // after a byte order mark
    const { orgId, org_id, ...entry } = this.parse(text);
    if (orgId !== undefined && org_id !== undefined) {
      throw new ParseError('IMPORT-DUPLICATE-KEY', `Line ${this.line}: "orgId" must be given only once.`, 'orgId');
    }
    this.add(this.org(orgId ?? org_id, entry), entry, !text.includes('\\'));
  }

  private text(bytes: Buffer): string {
    if (bytes.length > MAX_ENTRY_BYTES) throw tooLong(this.line);
    if (!isUtf8(bytes)) throw this.notJson('is not valid UTF-8');
    const scan = startScan(0);
    advance(scan, bytes, MAX_DEPTH);
    if (scan.tooDeep) throw new ParseError('IMPORT-DEPTH', `Line ${this.line}: ${IMPORT_DEPTH_MESSAGE}`);
    return bytes.toString('utf8');
  }

  private parse(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.notJson('is not valid JSON');
    }
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    throw new ParseError('IMPORT-BODY', `Line ${this.line} must be an object.`);
  }

  /** The number of the organization; adds a step for each new one. */
  private org(id: unknown, entry: object): number {
    if (typeof id !== 'string') throw new ParseError('IMPORT-BODY', `Line ${this.line}: ${noOrg(id, entry)}`, 'orgId');
    const known = this.orgs.get(id);
    if (known !== undefined) return known;
    const org = this.orgs.size;
    this.orgs.set(id, org);
    this.flush();
    this.steps.push({ type: 'orgId', org, value: id, line: this.line });
    return org;
  }

  private add(org: number, entry: unknown, plain: boolean): void {
    if (this.users?.org !== org) this.flush();
    this.users ??= { type: 'users', org, entries: [], plain: true };
    this.users.entries.push(entry);
    this.users.plain &&= plain;
  }

  private flush(): void {
    if (this.users) this.steps.push(this.users);
    this.users = undefined;
  }

  private notJson(what: string): ParseError {
    return new ParseError('REQUEST-JSON', `Line ${this.line} ${what}.`);
  }
}

function tooLong(line: number): ParseError {
  return new ParseError('IMPORT-ENTRY-SIZE', `Line ${line} must be at most ${MAX_ENTRY_BYTES} bytes.`);
}

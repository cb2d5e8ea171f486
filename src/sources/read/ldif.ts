/**
 * Reads the entries of an LDIF file (RFC 2849): `{dn, <attribute in lower case>: [values]}`.
 *
 * Base64 values are decoded as UTF-8, or byte by byte where they are not valid UTF-8. A change record that adds counts
 * as an entry; other change records, and values in external files, are broken records. The lines that ldapsearch
 * without -LLL prints about the search itself are skipped.
 */
import { isUtf8 } from 'node:buffer';
import { FileError, type FileRecord, MAX_RECORD_BYTES, type Records } from './records.ts';

const NEWLINE = 0x0a;
/** The search's number, its result, and its referrals. */
const OF_THE_SEARCH = /^(?:search: [0-9]+$|result: [0-9]+ |ref: [a-z]+:\/\/)/;

export async function* ldifRecords(chunks: AsyncIterable<Buffer>): Records {
  const entries = new LdifEntries();
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    rest = bytes.subarray(end);
    const records = entries.push(bytes.toString('utf8', 0, end).split('\n').slice(0, -1));
    if (records.length > 0) yield records;
    if (rest.length > MAX_RECORD_BYTES) {
      throw new FileError(`A line is longer than ${MAX_RECORD_BYTES} bytes.`, entries.number + 1);
    }
  }
  const last = [...entries.push([...rest.toString('utf8').split('\n'), '']), ...entries.end()];
  if (last.length > 0) yield last;
}

class LdifEntries {
  /** Number of lines read so far. */
  number = 0;
  private from = 1;
  /** Logical lines of the unfinished entry: folded lines are joined. */
  private lines: string[] = [];
  private bytes = 0;

  push(lines: string[]): FileRecord[] {
    const records: FileRecord[] = [];
    for (const text of lines) {
      this.number++;
      const line = text.endsWith('\r') ? text.slice(0, -1) : text;
      if (line === '') records.push(...this.end());
      else this.take(line);
    }
    return records;
  }

  end(): FileRecord[] {
    const { lines, from } = this;
    this.lines = [];
    this.bytes = 0;
    const kept = lines.filter((line) => !line.startsWith('#') && !/^version:/i.test(line));
    return kept.every((line) => OF_THE_SEARCH.test(line)) ? [] : [record(kept, from)];
  }

  private take(line: string): void {
    this.bytes += line.length;
    if (this.bytes > MAX_RECORD_BYTES) {
      throw new FileError(`An entry is longer than ${MAX_RECORD_BYTES} bytes.`, this.number);
    }
    if (line.startsWith(' ') && this.lines.length > 0) {
      this.lines.push(`${this.lines.pop()}${line.slice(1)}`);
      return;
    }
    if (this.lines.length === 0) this.from = this.number;
    this.lines.push(line);
  }
}

function record(lines: string[], line: number): FileRecord {
  const value: Record<string, string | string[]> = {};
  for (const text of lines) {
    const problem = add(value, text);
    if (problem) return { line, value: undefined, problem };
  }
  return typeof value.dn === 'string' ? { line, value } : { line, value: undefined, problem: 'has no dn' };
}

/** Adds a line to the record. Returns what is wrong with it, if anything. */
function add(value: Record<string, string | string[]>, text: string): string | undefined {
  const colon = text.indexOf(':');
  const description = text.slice(0, Math.max(0, colon));
  const options = description.indexOf(';');
  const name = (options < 0 ? description : description.slice(0, options)).toLowerCase();
  if (!/^[a-z0-9.-]+$/.test(name)) return 'has a line without the name of an attribute';
  const read = attributeValue(text.slice(colon + 1));
  if (read === undefined) return 'has a value in another file';
  if (name === 'dn') value.dn = read;
  else if (name === 'changetype') return read.toLowerCase() === 'add' ? undefined : 'is a change, not an entry';
  else if (name !== 'control') {
    const list = Object.hasOwn(value, name) ? value[name] : undefined;
    if (Array.isArray(list)) list.push(read);
    else value[name] = [read];
  }
  return undefined;
}

function attributeValue(text: string): string | undefined {
  if (text.startsWith('<')) return undefined;
  if (!text.startsWith(':')) return text.trimStart();
  const bytes = Buffer.from(text.slice(1).trim(), 'base64');
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}

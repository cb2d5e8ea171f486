/**
 * Reads the beginning of an export file, enough to tell what the file is, and detects its format.
 *
 * Guarantee: reads at most 1 MiB, or 9 MiB where the first line of JSON is longer than 1 MiB, whatever the file holds.
 */
import type { Fields, Format } from '../source.ts';
import { isFields, parseJson } from '../values.ts';
import { JsonScanner } from './json.ts';
import { FileError, MAX_RECORD_BYTES } from './records.ts';

export interface Beginning {
  bytes: Buffer;
  /** Whether `bytes` is the whole file. */
  isWhole: boolean;
}

const SAMPLE_BYTES = 2 ** 20;
const LONGEST_BYTES = MAX_RECORD_BYTES + SAMPLE_BYTES;

/**
 * The beginning, and its format. A first line of JSON that is longer than the sample is read to its end, because only
 * the text after it tells NDJSON from a single document.
 * @param open the file's text from its start, as UTF-8
 * @param given the format, if the caller named it
 * @throws FileError when the first line is longer than a record may be, and certainly not a document
 */
export async function formattedBeginning(
  open: () => AsyncIterable<Buffer>,
  given?: Format,
): Promise<Beginning & { format: Format }> {
  const short = await beginningOf(open());
  const format = given ?? formatOf(short.bytes.toString('utf8'));
  const isLine = !short.isWhole && !short.bytes.includes('\n');
  if (!isLine || (format !== 'json' && format !== 'ndjson')) return { ...short, format };
  const long = await beginningOf(open(), LONGEST_BYTES);
  const end = long.bytes.indexOf('\n');
  const told = given ?? formatOf(long.bytes.toString('utf8'));
  if (told === 'ndjson' && (end >= 0 || long.isWhole)) {
    const bytes = end < 0 ? long.bytes : long.bytes.subarray(0, end + 1 + SAMPLE_BYTES);
    return { bytes, isWhole: long.isWhole && bytes.length === long.bytes.length, format: told };
  }
  if (told === 'ndjson') throw new FileError(`A line is longer than ${MAX_RECORD_BYTES} bytes.`, 1);
  const scanner = new JsonScanner([]);
  scanner.push(long.bytes);
  if (scanner.problem) throw scanner.problem;
  return { ...short, format };
}

/** The first bytes. @param limit the largest number of bytes */
export async function beginningOf(chunks: AsyncIterable<Buffer>, limit: number = SAMPLE_BYTES): Promise<Beginning> {
  const kept: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    kept.push(chunk);
    length += chunk.length;
    if (length > limit) return { bytes: Buffer.concat(kept).subarray(0, limit), isWhole: false };
  }
  return { bytes: Buffer.concat(kept), isWhole: true };
}

/** The format that the first bytes of a file show. @param head the beginning of the file, as UTF-8 */
export function formatOf(head: string): Format {
  const text = head.trimStart();
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{')) return isLines(text) ? 'ndjson' : 'json';
  const plain = text.replace(/^(?:#.*\r?\n|\s)+/, '');
  if (/^(?:dn::?|version:) ?/i.test(plain)) return 'ldif';
  // The first entry may have lost its first line.
  return /^dn::? ?/im.test(text) && /^objectClass::? ?/im.test(text) ? 'ldif' : 'csv';
}

/**
 * Whether the first line is a user and the next one begins another object; otherwise the file is one document, or the
 * pages of an API one after the other.
 */
function isLines(text: string): boolean {
  const [first = '', ...others] = text.split('\n', 20);
  const record = parseJson(first);
  if (!isFields(record) || isPage(record)) return false;
  return others.find((line) => line.trim() !== '')?.startsWith('{') ?? false;
}

/** Where APIs answer with a list of users. */
const LISTS = ['users', 'Users', 'data', 'result', 'results', 'items', 'value', 'Resources'];
/** What a user has, who may have a list of such a name too. */
const OF_USER = /^(?:_?id|user_?id|uid|sub|e?mail|user_?name|login|name)$/i;

/** Whether the record has a list of users and is not a user. */
function isPage(record: Fields): boolean {
  if (Object.entries(record).some(([name, value]) => OF_USER.test(name) && value)) return false;
  const { _embedded: embedded } = record;
  return LISTS.some((name) => isList(record[name]) || (isFields(embedded) && isList(embedded[name])));
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.some(isFields);
}

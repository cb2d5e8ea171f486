/**
 * Guesses which system a file comes from, and where its records are; or tells why no system recognizes it, where the file
 * itself is the reason. The caller shows the guess.
 */
import { mappingFor } from './mapping.ts';
import { type ExportFile, placed, readerOf } from './read/file.ts';
import { FileError, MOST_CELLS } from './read/records.ts';
import { SOURCES } from './registry.ts';
import { EACH_KEY, type ExportFormat, type Fields, type Format, type JsonPath } from './source.ts';
import { CONTEXT, fieldNames, isFields, objectAt, parseJson } from './values.ts';

export interface Layout {
  paths: readonly JsonPath[];
  columns: readonly string[] | undefined;
}

export interface Guess {
  source: ExportFormat;
  /** 0 to 1. */
  certainty: number;
}

/** A file, read as one of a source's files. */
export interface FileOfSource {
  file: ExportFile;
  layout: Layout;
  /** It holds hashes for the users of another file. */
  isHashes: boolean;
  /** The first record, to show how it is converted. */
  first: Fields | undefined;
}

/** Many sources look at the same places of a file. Its values are dropped after that, as they may be large. */
const READ = new WeakMap<ExportFile, Map<string, Promise<unknown[]>>>();

/** The sources that the file may come from, the likeliest first; empty when no source recognizes it. */
export async function guessSources(file: ExportFile, sources: readonly ExportFormat[] = SOURCES): Promise<Guess[]> {
  const guesses: Guess[] = [];
  for (const source of sources) {
    const certainty = await certaintyOf(source, file);
    if (certainty > 0) guesses.push({ source, certainty });
  }
  READ.delete(file);
  return guesses.sort((a, b) => b.certainty - a.certainty);
}

async function certaintyOf(source: ExportFormat, file: ExportFile): Promise<number> {
  if (!source.formats.includes(file.format) && !(file.format === 'json' && source.formats.includes('ndjson'))) return 0;
  return certaintyAt(file, source, await layoutOf(file, source));
}

async function certaintyAt(file: ExportFile, source: ExportFormat, layout: Layout): Promise<number> {
  const records = await firstRecords(file, layout);
  const format = file.format === 'json' && !source.formats.includes('json') ? 'ndjson' : file.format;
  return records.reduce((most, record) => Math.max(most, certaintyOfRecord(source, record, format)), 0);
}

async function firstRecords(file: ExportFile, layout: Layout): Promise<Fields[]> {
  return (await firstValues(file, layout)).filter(isFields);
}

function firstValues(file: ExportFile, layout: Layout): Promise<unknown[]> {
  const known = READ.get(file) ?? new Map<string, Promise<unknown[]>>();
  READ.set(file, known);
  const key = JSON.stringify([layout.paths, layout.columns]);
  const values = known.get(key) ?? readFirstValues(file, layout);
  known.set(key, values);
  return values;
}

/**
 * Where the rows are in a JSON export of phpMyAdmin: a list of a header, a database and its tables, each with its name
 * and its rows. https://docs.phpmyadmin.net/en/latest/import_export.html#json
 */
export const ROWS: JsonPath = ['*', 'data', '*'];

/** How many of the first records are examined. */
const SAMPLE_RECORDS = 20;

async function readFirstValues(file: ExportFile, { paths, columns }: Layout): Promise<unknown[]> {
  const read = readerOf(file.format, paths, { delimiter: file.delimiter, columns, isSample: true });
  // Rows of other tables may precede those of the users.
  const most = paths[0] === ROWS ? Number.POSITIVE_INFINITY : SAMPLE_RECORDS;
  const values: unknown[] = [];
  try {
    for await (const group of read(inParts(file.head))) {
      for (const { value } of group) if (value !== undefined) values.push(value);
      if (values.length >= most) break;
    }
  } catch (error) {
    // The sample may end in the middle of a record, and a guess may be wrong.
    if (!(error instanceof FileError)) throw error;
  }
  return values.slice(0, most);
}

function certaintyOfRecord(source: ExportFormat, record: Fields, format: Format): number {
  return source.hashFile?.recognizes(record) ? 1 : source.recognizes(record, format);
}

/** Common names for lists of users, where a source defines no paths of its own. */
const LISTS: readonly JsonPath[] = [
  ['users', '*'],
  ['data', '*'],
  ['results', '*'],
];

/** Other names for them, which a user may have for a list of their own; and objects with a user under each key. */
const MORE_LISTS: readonly JsonPath[] = [
  ...['records', 'Users', 'items', 'value', 'result', 'Resources', 'accounts', 'members', 'people', 'rows', 'entries'],
  ...['customers', 'list', 'persons', 'contacts', 'employees', 'User', 'user', 'docs', 'documents', 'hits', 'objects'],
].map((name) => [name, '*']);
const WRAPPED: readonly JsonPath[] = [
  'data',
  'result',
  'response',
  'export',
  'payload',
  'database',
  'authentication_backend',
].flatMap((name) => ['users', 'records', 'items', 'results', 'accounts'].map((list) => [name, list, '*']));
const KEYED: readonly JsonPath[] = [
  ['users', EACH_KEY],
  ['accounts', EACH_KEY],
  ['data', EACH_KEY],
  ['data', 'users', EACH_KEY],
  ['people', EACH_KEY],
  ['members', EACH_KEY],
  [EACH_KEY],
];

/** The first of the paths with better records than each document as a whole. */
async function betterPath(certainty: (paths: readonly JsonPath[]) => Promise<number>): Promise<JsonPath | undefined> {
  const whole = await certainty([[]]);
  for (const path of [...MORE_LISTS, ...WRAPPED, ...KEYED]) if ((await certainty([path])) > whole) return path;
  return undefined;
}

/**
 * Where the records of a JSON file are: at the source's own paths, or in a list; otherwise each document is a record.
 */
async function layoutOf(file: ExportFile, source: ExportFormat): Promise<Layout> {
  if (file.format !== 'json') return { paths: [], columns: columnsOf(file, source) };
  if (isDumpOfTables(file.head.toString('latin1', 0, 1000))) return at([ROWS]);
  const { jsonPaths = LISTS } = source;
  const certainty = (paths: readonly JsonPath[]) => certaintyAt(file, source, at(paths));
  const has = async (paths: readonly JsonPath[]) => (await firstValues(file, at(paths))).length > 0;
  // Each document may hold a list of users; but a single user may also have a list of such a name.
  if (await has(jsonPaths)) return at((await certainty([[]])) > (await certainty(jsonPaths)) ? [[]] : jsonPaths);
  const elsewhere = source.jsonPaths ? undefined : await betterPath(certainty);
  if (elsewhere) return at([elsewhere]);
  if (startsAs('[', file)) {
    // The pages of an API, collected into a list by `jq -s`.
    const pages = jsonPaths.map((path) => ['*', ...path]);
    return at((await certainty(pages)) > (await certainty([['*']])) ? pages : [['*']]);
  }
  // A document with an empty list of users is not itself a user.
  const lists = (source.jsonPaths ?? []).filter((path) => path.at(-1) === '*').map((path) => path.slice(0, -1));
  const isDocument = file.isWhole && !(await has(lists));
  return at(isDocument ? [[]] : jsonPaths);
}

/** The column names of a file whose first row is data, not names. */
function columnsOf(file: ExportFile, source: ExportFormat): readonly string[] | undefined {
  if (file.columns) return file.columns;
  if (file.format !== 'csv' || !source.csvColumns) return undefined;
  const first = file.head.toString('utf8').split('\n', 1)[0] ?? '';
  const names = new Set(first.split(file.delimiter, MOST_CELLS));
  return source.csvColumns.some((name) => names.has(name)) ? undefined : source.csvColumns;
}

const BEGINNING = /^\s*\[\s*\{\s*"type"\s*:\s*"(?:header|database|table)"/;

/** Whether it is a JSON export of phpMyAdmin. @param head the beginning of the file */
function isDumpOfTables(head: string): boolean {
  return BEGINNING.test(head);
}

function at(paths: readonly JsonPath[]): Layout {
  return { paths, columns: undefined };
}

function startsAs(sign: string, { head }: ExportFile): boolean {
  return head.toString('latin1', 0, 1000).trimStart().startsWith(sign);
}

/** How the file is read as one of this source. */
export async function asFileOf(source: ExportFormat, file: ExportFile): Promise<FileOfSource> {
  const layout = await layoutOf(file, source);
  const first = (await firstRecords(file, layout)).find((record) => !isOfOtherTable(record, source));
  READ.delete(file);
  return { file, layout, isHashes: first !== undefined && source.hashFile?.recognizes(first) === true, first };
}

/**
 * Whether it is a row of another table than the users': the source does not recognize it, and it has no email address.
 */
export function isOfOtherTable(record: Fields, source: ExportFormat): boolean {
  if (objectAt(record, CONTEXT).type !== 'table' || source.recognizes(record, 'json') > 0) return false;
  return mappingFor(record, { columns: {}, metadata: {} }).columns.email === undefined;
}

/**
 * Why no system recognizes a file, where the file itself is the reason: a sentence with the file's name, and the line
 * where there is one; undefined if the file could be an export.
 */
export async function whyUnrecognized(file: ExportFile): Promise<string | undefined> {
  const { name, head, isWhole } = file;
  if (!isWhole) return undefined;
  const text = head.toString('utf8').trim();
  if (text === '' || text === '\u{feff}') return `${name} is empty.`;
  const value = parseJson(text);
  if (value !== undefined) return ofJson(name, value);
  if (file.format !== 'csv' && file.format !== 'ldif') return undefined;
  return ofRecords(file);
}

/** What an API answers instead of users, in lower case. */
const ERROR_FIELDS = fieldNames(`error errors error_code error_description error_uri message msg detail details code
  status statuscode title type path timestamp success request_id requestid`);

const TOLD = ['error', 'errors', 'message', 'msg', 'detail'];

function ofJson(name: string, value: unknown): string | undefined {
  if (!isFields(value) && !Array.isArray(value)) return `${name} is a single value, not a list of users.`;
  if (Object.keys(value).length === 0) return `${name} has no users.`;
  const fields = Object.keys(value);
  const isError = !Array.isArray(value) && fields.every((field) => ERROR_FIELDS.has(field.toLowerCase()));
  if (!isError || !fields.some((field) => TOLD.includes(field))) return undefined;
  return `${name} is the answer of an API that failed, not an export. Correct the request, and download the users again.`;
}

/** The first problem of its records, or that there are none. */
async function ofRecords(file: ExportFile): Promise<string | undefined> {
  const { name, format, delimiter, head } = file;
  let count = 0;
  try {
    for await (const group of readerOf(format, [], { delimiter })(once(head))) {
      for (const { line, problem } of group) {
        if (problem !== undefined) return `${name}, line ${line}: The record ${problem}.`;
        count++;
      }
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return (placed(name, error) as FileError).message;
  }
  if (count > 0) return undefined;
  return format === 'csv' ? `${name} has a header, but no users.` : `${name} has no entries.`;
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

const PART_BYTES = 2 ** 15;

/** The beginning of a file in small parts, as its first records are in the first of them. */
export async function* inParts(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
}

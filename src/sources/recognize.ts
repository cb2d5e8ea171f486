/**
 * Guesses which system a file comes from, and where its records are. The caller shows the guess.
 */
import { type ExportFile, readerOf } from './read/export-file.ts';
import { FileError, MOST_CELLS } from './read/records.ts';
import { SOURCES } from './registry.ts';
import type { Fields, Format, JsonPath, Source } from './source.ts';
import { isDumpOfTables, isOfOtherTable, ROWS } from './tables.ts';
import { isFields } from './values.ts';

/** Common names for lists of users, where a source defines no paths of its own. */
const LISTS: readonly JsonPath[] = [
  ['users', '*'],
  ['data', '*'],
  ['results', '*'],
];

/** How many of the first records are examined. */
const SAMPLE_RECORDS = 20;
const PART_BYTES = 2 ** 15;

export interface Layout {
  paths: readonly JsonPath[];
  columns: readonly string[] | undefined;
}

export interface Guess {
  source: Source;
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

/** The sources that the file may come from, the likeliest first; empty when no source recognizes it. */
export async function guessSources(file: ExportFile, sources: readonly Source[] = SOURCES): Promise<Guess[]> {
  const guesses: Guess[] = [];
  for (const source of sources) {
    const certainty = await certaintyOf(source, file);
    if (certainty > 0) guesses.push({ source, certainty });
  }
  READ.delete(file);
  return guesses.sort((a, b) => b.certainty - a.certainty);
}

async function certaintyOf(source: Source, file: ExportFile): Promise<number> {
  if (!source.formats.includes(file.format) && !(file.format === 'json' && source.formats.includes('ndjson'))) return 0;
  return certaintyAt(file, source, await layoutOf(file, source));
}

async function certaintyAt(file: ExportFile, source: Source, layout: Layout): Promise<number> {
  const records = await firstRecords(file, layout);
  const format = file.format === 'json' && !source.formats.includes('json') ? 'ndjson' : file.format;
  return records.reduce((most, record) => Math.max(most, certaintyOfRecord(source, record, format)), 0);
}

function certaintyOfRecord(source: Source, record: Fields, format: Format): number {
  return source.hashFile?.recognizes(record) ? 1 : source.recognizes(record, format);
}

/** How the file is read as one of this source. */
export async function asFileOf(source: Source, file: ExportFile): Promise<FileOfSource> {
  const layout = await layoutOf(file, source);
  const first = (await firstRecords(file, layout)).find((record) => !isOfOtherTable(record, source));
  READ.delete(file);
  return { file, layout, isHashes: first !== undefined && source.hashFile?.recognizes(first) === true, first };
}

/**
 * Where the records of a JSON file are: at the source's own paths, or in a list; otherwise each document is a record.
 */
async function layoutOf(file: ExportFile, source: Source): Promise<Layout> {
  if (file.format !== 'json') return { paths: [], columns: columnsOf(file, source) };
  if (isDumpOfTables(file.head.toString('latin1', 0, 1000))) return at([ROWS]);
  const { jsonPaths = LISTS } = source;
  const certainty = (paths: readonly JsonPath[]) => certaintyAt(file, source, at(paths));
  const has = async (paths: readonly JsonPath[]) => (await firstValues(file, at(paths))).length > 0;
  // Each document may hold a list of users; but a single user may also have a list of such a name.
  if (await has(jsonPaths)) return at((await certainty([[]])) > (await certainty(jsonPaths)) ? [[]] : jsonPaths);
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

function at(paths: readonly JsonPath[]): Layout {
  return { paths, columns: undefined };
}

function startsAs(sign: string, { head }: ExportFile): boolean {
  return head.toString('latin1', 0, 1000).trimStart().startsWith(sign);
}

/** The column names of a file whose first row is data, not names. */
function columnsOf(file: ExportFile, source: Source): readonly string[] | undefined {
  if (file.format !== 'csv' || !source.csvColumns) return undefined;
  const first = file.head.toString('utf8').split('\n', 1)[0] ?? '';
  const names = new Set(first.split(file.delimiter, MOST_CELLS));
  return source.csvColumns.some((name) => names.has(name)) ? undefined : source.csvColumns;
}

async function firstRecords(file: ExportFile, layout: Layout): Promise<Fields[]> {
  return (await firstValues(file, layout)).filter(isFields);
}

/** Many sources look at the same places of a file. Its values are dropped after that, as they may be large. */
const READ = new WeakMap<ExportFile, Map<string, Promise<unknown[]>>>();

function firstValues(file: ExportFile, layout: Layout): Promise<unknown[]> {
  const known = READ.get(file) ?? new Map<string, Promise<unknown[]>>();
  READ.set(file, known);
  const key = JSON.stringify([layout.paths, layout.columns]);
  const values = known.get(key) ?? readFirstValues(file, layout);
  known.set(key, values);
  return values;
}

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

/** The beginning of a file in small parts, as its first records are in the first of them. */
export async function* inParts(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) yield bytes.subarray(at, at + PART_BYTES);
}

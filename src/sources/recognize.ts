/**
 * Which system a file comes from, and how its records are to be found in it. A guess, for the caller to show.
 */
import { type ExportFile, readerOf } from './read/file.ts';
import { FileError } from './read/records.ts';
import { SOURCES } from './registry.ts';
import type { Fields, Format, JsonPath, Source } from './source.ts';
import { isDumpOfTables, isOfOtherTable, ROWS } from './tables.ts';
import { isFields } from './values.ts';

/** Under these names programs put lists of users, where a source says nothing of its own. */
const LISTS: readonly JsonPath[] = [
  ['users', '*'],
  ['data', '*'],
  ['results', '*'],
];

/** So many records of the beginning are looked at. */
const LOOK_AT = 20;

export interface Layout {
  paths: readonly JsonPath[];
  columns: readonly string[] | undefined;
}

export interface Guess {
  source: Source;
  /** 0 to 1. */
  certainty: number;
}

/** What is known of a file as one of a source. */
export interface FileOfSource {
  file: ExportFile;
  layout: Layout;
  /** It holds hashes for the users of another file. */
  isHashes: boolean;
  /** The first record, to show what is taken of it. */
  first: Fields | undefined;
}

/** The sources whose file it may be, the likeliest first; none when nobody knows it. */
export async function guessSources(file: ExportFile, sources: readonly Source[] = SOURCES): Promise<Guess[]> {
  const guesses: Guess[] = [];
  for (const source of sources) {
    const certainty = await certaintyOf(source, file);
    if (certainty > 0) guesses.push({ source, certainty });
  }
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
  return { file, layout, isHashes: first !== undefined && source.hashFile?.recognizes(first) === true, first };
}

/** Where the records of a JSON file are: at the source's own paths, or in a list, or else each document is one. */
async function layoutOf(file: ExportFile, source: Source): Promise<Layout> {
  if (file.format !== 'json') return { paths: [], columns: columnsOf(file, source) };
  if (isDumpOfTables(file.head.toString('latin1', 0, 1000))) return at([ROWS]);
  const { jsonPaths = LISTS } = source;
  const certainty = (paths: readonly JsonPath[]) => certaintyAt(file, source, at(paths));
  const has = async (paths: readonly JsonPath[]) => (await firstValues(file, at(paths))).length > 0;
  // A list of documents that hold users is no list of users, but a user may have a list of such a name.
  if (await has(jsonPaths)) return at((await certainty([[]])) > (await certainty(jsonPaths)) ? [[]] : jsonPaths);
  if (startsAs('[', file)) {
    // Answers of an API, page after page, as `jq -s` puts them into a list.
    const pages = jsonPaths.map((path) => ['*', ...path]);
    return at((await certainty(pages)) > (await certainty([['*']])) ? pages : [['*']]);
  }
  // An empty list of users is no user, and not a document that is one.
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

/** A file whose first row is data and not names. */
function columnsOf(file: ExportFile, source: Source): readonly string[] | undefined {
  if (file.format !== 'csv' || !source.csvColumns) return undefined;
  const first = file.head.toString('utf8').split('\n', 1)[0] ?? '';
  return source.csvColumns.some((name) => first.split(file.delimiter).includes(name)) ? undefined : source.csvColumns;
}

async function firstRecords(file: ExportFile, layout: Layout): Promise<Fields[]> {
  return (await firstValues(file, layout)).filter(isFields);
}

async function firstValues(file: ExportFile, { paths, columns }: Layout): Promise<unknown[]> {
  const read = readerOf(file.format, paths, { delimiter: file.delimiter, columns, isSample: true });
  // Rows of other tables may stand before those of the users.
  const most = paths[0] === ROWS ? Number.POSITIVE_INFINITY : LOOK_AT;
  const values: unknown[] = [];
  try {
    for await (const group of read(once(file.head))) {
      for (const { value } of group) if (value !== undefined) values.push(value);
      if (values.length >= most) break;
    }
  } catch (error) {
    // The sample may end in the middle of a record, and a guess may be wrong.
    if (!(error instanceof FileError)) throw error;
  }
  return values.slice(0, most);
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

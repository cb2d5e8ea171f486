/**
 * Reads the rows of a CSV file (RFC 4180) as records by column name. The delimiter is the most frequent one in the
 * first line, or the one that Excel's line `sep=;` names. Lines may end with CR alone, as in old programs for the Mac.
 *
 * Guarantee: a row with text beyond the last column is a broken record, as its cells are under the wrong names; so is one
 * with different cells in two columns of the same name, as one of them would be lost. Many programs leave out empty cells
 * at the end of a row, so missing cells count as empty; such a row is marked, as it may lack a cell in the middle. An
 * unclosed quote ends the file with an error, and so does a row with more cells than MOST_CELLS: the library's limit of a
 * row does not count empty cells.
 */
import { finished } from 'node:stream';
import { CsvError, type Parser, parse } from 'csv-parse';
import { FileError, type FileRecord, MAX_RECORD_BYTES, MOST_CELLS, type Records } from './records.ts';

export interface CsvLayout {
  delimiter: string;
  /** Names of the columns where the file has no header. */
  columns?: readonly string[] | undefined;
  /** Accepts rows of any length, to recognize a file. */
  isSample?: boolean;
  /** The rows are those of a sheet, where a row with line breaks in its cells is one row, too. */
  isSheet?: boolean;
}

const UNCLOSED = 'a quote is opened and never closed';

export async function* csvRecords(chunks: AsyncIterable<Buffer>, layout: CsvLayout): Records {
  const rows = new Rows(layout);
  const parser = parserOf(layout, rows);
  let broken: Error | undefined;
  parser.on('error', (error) => {
    broken = error;
  });
  parser.resume();
  for await (const chunk of withoutComments(chunks)) {
    await new Promise<void>((resolve) => parser.write(chunk, () => resolve()));
    if (broken) break;
    const group = rows.taken();
    if (group.length > 0) yield group;
    if (unfinishedCells(parser) > MOST_CELLS) throw tooWide(rows.ended + 1);
  }
  if (!broken) await new Promise<void>((resolve) => finished(parser.end(), () => resolve()));
  const last = rows.taken();
  if (last.length > 0) yield last;
  if (broken instanceof UnclosedQuote) throw new FileError(`The file is not valid CSV: ${UNCLOSED}.`, rows.ended + 1);
  if (broken instanceof CsvError)
    throw new FileError(`The file is not valid CSV: ${withoutData(broken)}.`, rows.ended + 1);
  if (broken) throw broken;
}

function parserOf({ delimiter }: CsvLayout, rows: Rows): Parser {
  return parse({
    delimiter,
    bom: true,
    relax_column_count: true,
    // Programs that separate by tabs, such as `mysql --batch`, do not quote: a cell of JSON is as it is.
    relax_quotes: delimiter === '\t',
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_BYTES,
    record_delimiter: ['\r\n', '\n'],
    // Collected here and not from the stream, which would drop the rows before an error.
    on_record(cells: string[], { lines }: { lines: number }) {
      rows.add(cells, lines);
      return null;
    },
  });
}

/** The rows that were parsed and not yet passed on. */
class Rows {
  /** The line where the last row ended. */
  ended = 0;
  /** Line breaks in the cells of a sheet so far, which are no rows. */
  private inside = 0;
  private readonly layout: CsvLayout;
  private read: RowReader | undefined;
  private group: FileRecord[] = [];

  constructor(layout: CsvLayout) {
    this.layout = layout;
    this.read = layout.columns && this.readerOf(layout.columns);
  }

  /** @param lines the number of lines up to the end of the row @throws UnclosedQuote @throws FileError */
  add(cells: string[], lines: number): void {
    const isTabbed = this.layout.delimiter === '\t';
    // In text without quotes, a cell that begins with one would take the rows after it.
    if (isTabbed && cells.some((cell) => cell.includes('\t') && cell.includes('\n'))) throw new UnclosedQuote();
    const breaks = breaksIn(cells);
    const line = lines - breaks - this.inside;
    if (this.layout.isSheet) this.inside += breaks;
    if (cells.length > MOST_CELLS) throw tooWide(line);
    this.ended = lines - this.inside;
    if (!this.read) {
      if (!this.layout.isSample && cells.some(hasHash))
        throw new FileError(`The file is not valid CSV: ${NO_HEADER}.`, line);
      this.read = this.readerOf(cells.map((name) => name.trim()));
    } else {
      const record = this.read(cells, line);
      if (record) this.group.push(record);
    }
  }

  taken(): FileRecord[] {
    const { group } = this;
    this.group = [];
    return group;
  }

  private readerOf(columns: readonly string[]): RowReader {
    const { columns: given, isSample = false } = this.layout;
    return isSample ? looseRowReader(columns) : rowReader(columns, given === undefined);
  }
}

const NO_HEADER =
  'its first line has no names of columns but a password hash, so its first user would be taken for them. Add a line with names';

/** A hash, or a row of one column with one in it. */
function hasHash(cell: string): boolean {
  return cell.length < 2000 && /(?:^|[:;, \t!*])(?:\$[a-z0-9-]{1,24}\$\S{13}|[0-9a-f]{32,128}(?:$|[:;, ]))/i.test(cell);
}

class UnclosedQuote extends Error {}

/** Line breaks inside cells. */
function breaksIn(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => (cell.includes('\n') ? sum + cell.split('\n').length - 1 : sum), 0);
}

function tooWide(line: number): FileError {
  return new FileError(`The file is not valid CSV: a row has more than ${MOST_CELLS} cells.`, line);
}

const HASH = 0x23;
const NEWLINE = 0x0a;
/** The line before the header that tells Excel the delimiter. */
const SEP = /^\uFEFF?sep=([,;\t|])\r?\n/i;
/** A byte order mark in UTF-8, and the line `sep=;`. */
const SEP_BYTES = 12;

/**
 * Comment lines (`#`) and `sep=;` before the header become empty lines, which keeps line numbers right; later on, `#` is
 * data. Where lines end with CR alone, each becomes LF.
 */
async function* withoutComments(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isHead = true;
  let endsWithReturn = false;
  for await (const given of chunks) {
    if (isHead) endsWithReturn = isReturnOnly(given);
    const chunk = endsWithReturn ? linesOf(given) : given;
    let from = isHead && SEP.test(chunk.toString('utf8', 0, SEP_BYTES)) ? chunk.indexOf(NEWLINE) + 1 : 0;
    while (isHead && chunk[from] === HASH && chunk.includes(NEWLINE, from)) from = chunk.indexOf(NEWLINE, from) + 1;
    if (from > 0) yield Buffer.from('\n'.repeat(chunk.subarray(0, from).toString('latin1').split('\n').length - 1));
    yield chunk.subarray(from);
    isHead = false;
  }
}

const RETURN = 0x0d;

/** A CR at the very end may belong to a LF that has not been read yet. */
function isReturnOnly(chunk: Buffer): boolean {
  const first = chunk.indexOf(RETURN);
  return first >= 0 && first < chunk.length - 1 && !chunk.includes(NEWLINE);
}

function linesOf(chunk: Buffer): Buffer {
  return Buffer.from(chunk.map((byte) => (byte === RETURN ? NEWLINE : byte)));
}

/** How many cells of the row that has not ended yet were read. The library's types do not list its state. */
function unfinishedCells(parser: object): number {
  return (parser as { state: { record: string[] } }).state.record.length;
}

/** The library's messages may quote cells, so none of them is shown. */
function withoutData(error: CsvError): string {
  if (error.code === 'CSV_QUOTE_NOT_CLOSED') return UNCLOSED;
  if (error.code === 'CSV_MAX_RECORD_SIZE') return `a row is longer than ${MAX_RECORD_BYTES} bytes`;
  return 'a quote is in a place where none is allowed';
}

type RowReader = (cells: string[], line: number) => FileRecord | undefined;

/**
 * Reads rows one after the other. The first row may decide how many cells a row usually has: in some files every row
 * except the header ends with a delimiter, and files without a header may lack the last columns.
 * @param columns names, from the header or from the caller
 * @param hasHeader whether the names are in the file
 */
function rowReader(columns: readonly string[], hasHeader: boolean): RowReader {
  let width: number | undefined;
  let mayBegin = columns[0]?.startsWith('#') ?? false;
  const twice = repeatedOf(columns);
  return (cells, line) => {
    // A line of spaces is not a row.
    if (cells.length === 1 && columns.length > 1 && cells[0]?.trim() === '') return undefined;
    const unclear = twice.find((places) => new Set(places.map((at) => cells[at] ?? '')).size > 1);
    if (unclear) {
      const problem = `has different values in two columns named "${columns[unclear[0] as number]}": rename one`;
      return { line, value: undefined, problem };
    }
    // Whoever puts `#` before a row leaves it out; where the first row begins with it too, it belongs to the values.
    const isMarked = MARKED.test(cells[0] ?? '');
    if (isMarked && width === undefined) mayBegin = true;
    if (isMarked && !mayBegin) {
      return { line, value: undefined, skip: 'A row that begins with #.' };
    }
    width ??= widthBy(cells, columns, hasHeader);
    if (cells.length === width) return { line, value: recordOf(cells, columns) };
    if (isEmptyBeyond(columns.length, cells)) return { line, value: recordOf(cells, columns), isUneven: true };
    const where = hasHeader ? 'the header' : 'this export';
    return { line, value: undefined, problem: `has ${cells.length} cells where ${where} has ${columns.length}` };
  };
}

/** `#N/A`, `#NULL!` and the like are values that spreadsheets write. */
const MARKED = /^#(?!N\/A$|[A-Z0/]+[!?]$)/;

/** The places of each name that more than one column has. */
function repeatedOf(columns: readonly string[]): number[][] {
  const places = new Map<string, number[]>();
  for (const [i, name] of columns.entries()) {
    if (name === '') continue;
    const known = places.get(name);
    if (known) known.push(i);
    else places.set(name, [i]);
  }
  return [...places.values()].filter((all) => all.length > 1);
}

function widthBy(first: readonly string[], columns: readonly string[], hasHeader: boolean): number {
  if (first.length > columns.length) return isEmptyBeyond(columns.length, first) ? first.length : columns.length;
  // If only the header ends with a delimiter, its last column has no name.
  const areNamed = columns.slice(first.length).some((name) => name !== '');
  return hasHeader && areNamed ? columns.length : first.length;
}

function isEmptyBeyond(width: number, cells: readonly string[]): boolean {
  return cells.slice(width).every((cell) => cell.trim() === '');
}

/** A formula that keeps digits as they are, in a cell of its own quotes. */
const FORMULA = /^="([\s\S]*)"$/;

function recordOf(cells: readonly string[], columns: readonly string[]): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const [i, name] of columns.entries()) if (name !== '') value[name] = cells[i]?.replace(FORMULA, '$1') ?? '';
  return value;
}

/** Like `rowReader`, but accepts rows of any length: for recognizing a file, not for importing it. */
function looseRowReader(columns: readonly string[]): RowReader {
  return (cells, line) => ({ line, value: recordOf(cells, columns) });
}

const DELIMITERS = [',', ';', '\t', '|'];

/** @param head the beginning of the file */
export function delimiterOf(head: string): string {
  const named = SEP.exec(head)?.[1];
  if (named !== undefined) return named;
  const line = head.split(/\r\n|\n|\r/).find((text) => text.trim() !== '' && !text.startsWith('#')) ?? '';
  const unquoted = line.replace(/"[^"]*"/g, '');
  const counted = DELIMITERS.map((delimiter) => ({ delimiter, count: unquoted.split(delimiter).length - 1 }));
  return counted.reduce((best, next) => (next.count > best.count ? next : best)).delimiter;
}

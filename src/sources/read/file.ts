/**
 * An export as bytes from anywhere, gzipped or not, in any supported encoding: what it is, and its records. It can be
 * read from its beginning any number of times.
 *
 * Guarantee: standard input, which can be read only once, is written to a temporary file that is unlinked before the first
 * byte is written, so it disappears with the process, however that ends.
 */
import { isAscii } from 'node:buffer';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Format, JsonPath } from '../source.ts';
import { shownValue } from '../values.ts';
import { type Beginning, beginningOf, formattedBeginning } from './beginning.ts';
import { type Container, containerOf, problemOfBytes, problemOfText } from './containers.ts';
import { type CsvLayout, csvRecords, delimiterOf } from './csv.ts';
import {
  type Characters,
  charactersIn,
  type DetectedEncoding,
  detectEncoding,
  type Encoding,
  toUtf8,
} from './encoding.ts';
import { jsonRecords } from './json.ts';
import { ldifRecords } from './ldif.ts';
import { ndjsonRecords } from './ndjson.ts';
import { FileError, type Records } from './records.ts';
import { isZip, openWorkbook, type Workbook, ZIP } from './xlsx.ts';

/** The name of standard input. */
export const STDIN = '/dev/stdin';

export interface ExportFile {
  /** As the caller named it. */
  name: string;
  isGzip: boolean;
  encoding: Encoding;
  /** The encodings that fit as well, where it is a guess. */
  alsoFits: readonly Encoding[] | undefined;
  /** The characters of the beginning. */
  characters: Characters;
  format: Format;
  /** What it is besides, such as `YAML`. */
  container: string | undefined;
  /** The sheets of a workbook, and the one that is read. */
  workbook: Pick<Workbook, 'sheets' | 'sheet'> | undefined;
  /** Names of the columns, where the file has none. */
  columns: readonly string[] | undefined;
  delimiter: string;
  /** Size as stored, in bytes. */
  size: number;
  /** The beginning as UTF-8: 1 MiB, or more where the first line is longer (`beginning.ts`). */
  head: Buffer;
  /** Whether `head` is the whole file. */
  isWhole: boolean;
  /**
   * The records from the beginning.
   * @param onRead is called now and then with the number of bytes read from the file
   */
  records(
    layout: { paths: readonly JsonPath[]; columns?: readonly string[] | undefined },
    onRead?: (bytes: number) => void,
  ): Records;
  close(): Promise<void>;
}

export interface FileOptions {
  /** Overrides the format that the content shows. */
  format?: Format | undefined;
  encoding?: Encoding | undefined;
  /** The sheet of a workbook. Default: the first that is not hidden. */
  sheet?: string | undefined;
}

/** An export file on this machine, or standard input. @throws FileError when it cannot be read */
export async function openExport(
  name: string,
  options: FileOptions = {},
  stdin: Readable = process.stdin,
): Promise<ExportFile> {
  let file: FileHandle | undefined;
  try {
    const opened = name === STDIN ? await spooled(stdin) : await open(name);
    file = opened;
    const { size } = await opened.stat();
    return await inspect({ name, size, read: () => bytesOf(opened, size), close: () => opened.close() }, options);
  } catch (error) {
    await file?.close();
    throw placed(name, error);
  }
}

async function spooled(stdin: Readable): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const path = join(folder, 'stdin');
  const file = await open(path, 'wx+', 0o600);
  await rm(folder, { recursive: true });
  await file.writeFile(stdin);
  return file;
}

export const CHUNK_BYTES = 2 ** 18;

/** What is read after the known end of a file, which may have grown. */
const GROWN_BYTES = 2 ** 12;

/**
 * The file from its beginning, independent of other readers' positions.
 * @param size as known; a small file needs no large buffers
 */
async function* bytesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const most = Math.min(CHUNK_BYTES, Math.max(size - at, GROWN_BYTES));
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(most), 0, most, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Where the bytes of an export come from. */
export interface ExportBytes {
  /** As the caller named it; errors begin with it. */
  name: string;
  /** In bytes, as stored. */
  size: number;
  /** The bytes as stored, from the beginning, independent of other readers. */
  read(): AsyncIterable<Buffer>;
  close(): Promise<void>;
  /** Only the beginning is there: the file is still being uploaded. */
  isPart?: boolean;
  /** The most bytes after decompression. */
  most?: number;
}

/** Tells what an export is, and how to read its records. @throws FileError when it is not an export */
export async function inspect(bytes: ExportBytes, options: FileOptions = {}): Promise<ExportFile> {
  const { name, size, isPart = false } = bytes;
  const isGzip = await beginsAsGzip(bytes);
  const raw = await beginningOf(decompressed(bytes, isGzip));
  const isComplete = raw.isWhole && !isPart;
  const workbook = isZip(raw.bytes) ? await workbookOf(bytes, isGzip, options) : undefined;
  if (workbook) return ofWorkbook(bytes, isGzip, workbook);
  refuse(options.format === undefined ? problemOfBytes(raw.bytes) : undefined);
  const { encoding, alsoFits } = options.encoding ? { encoding: options.encoding } : await detected(bytes, raw, isGzip);
  const decoded = (onRead?: (bytes: number) => void) => toUtf8(decompressed(bytes, isGzip, onRead), encoding);
  const begun = (await beginningOf(decoded())).bytes.toString('utf8');
  if (options.format === undefined)
    refuse(problemOfText(begun) ?? (isBinary(begun.slice(0, 4000)) ? BINARY : undefined));
  const container = takenAs(containerOf(begun, isComplete), options.format);
  const text = (onRead?: (bytes: number) => void) => container?.rewrite(decoded(onRead)) ?? decoded(onRead);
  const { bytes: head, isWhole, format } = await formattedBeginning(text, options.format ?? container?.format);
  const delimiter = container?.delimiter ?? delimiterOf(head.toString('utf8'));
  return {
    name,
    isGzip,
    encoding,
    alsoFits,
    characters: charactersIn(head.toString('utf8')),
    format,
    container: container?.title,
    workbook: undefined,
    columns: container?.columns,
    delimiter,
    size,
    head,
    isWhole: isWhole && !isPart,
    records({ paths, columns }, onRead) {
      const read = readerOf(format, paths, { delimiter, columns });
      return named(name, read(text(onRead)));
    },
    close: () => bytes.close(),
  };
}

/** @throws FileError for what is no workbook, or has no such sheet */
async function workbookOf(bytes: ExportBytes, isGzip: boolean, options: FileOptions): Promise<Workbook | undefined> {
  if (bytes.isPart) throw new FileError('A workbook can be read when all of it has arrived.');
  const workbook = await openWorkbook(decompressed(bytes, isGzip), options.sheet);
  if (workbook && options.format !== undefined && options.format !== 'csv')
    throw new FileError('This is a workbook (XLSX), whose sheets are tables.');
  return workbook;
}

/** A sheet that cannot be read, of a workbook that has others. */
export class SheetError extends FileError {
  readonly workbook: Pick<Workbook, 'sheets' | 'sheet'>;
  /** Of the workbook. */
  readonly fileName: string;

  constructor({ message, line }: FileError, workbook: SheetError['workbook'], fileName: string) {
    super(message, line);
    [this.workbook, this.fileName] = [workbook, fileName];
  }
}

/** The beginning of the sheet. @throws FileError; a SheetError when there are other sheets */
async function beginningOfSheet(workbook: Workbook, { name, most }: ExportBytes): Promise<Beginning> {
  try {
    return await beginningOf(bounded(workbook.csv(), most));
  } catch (error) {
    const { sheets, sheet } = workbook;
    if (!(error instanceof FileError) || sheets.length < 2) throw error;
    const others = sheets.filter((other) => other.name !== sheet).map((other) => shownValue(other.name));
    const message = `${error.message} This is about the sheet ${shownValue(sheet)}; the workbook also has ${others.join(', ')}.`;
    throw new SheetError(new FileError(message, error.line), { sheets, sheet }, name);
  }
}

/** A sheet of a workbook, read as CSV. */
async function ofWorkbook(bytes: ExportBytes, isGzip: boolean, workbook: Workbook): Promise<ExportFile> {
  const { name, size } = bytes;
  const { bytes: head, isWhole } = await beginningOfSheet(workbook, bytes);
  return {
    name,
    isGzip,
    encoding: 'utf-8',
    alsoFits: undefined,
    characters: charactersIn(head.toString('utf8')),
    format: 'csv',
    container: 'XLSX',
    workbook: { sheets: workbook.sheets, sheet: workbook.sheet },
    columns: undefined,
    delimiter: ',',
    size,
    head,
    isWhole,
    records({ columns }, onRead) {
      const csv = workbook.csv((share) => onRead?.(Math.round(share * size)));
      return named(name, csvRecords(bounded(csv, bytes.most), { delimiter: ',', columns, isSheet: true }));
    },
    close: () => bytes.close(),
  };
}

/** Most bytes that are searched for the first one that is not ASCII. */
const SEARCHED_BYTES = 2 ** 23;

/**
 * Reads a workbook to its end. Returns why it cannot be read, by the sheet that is read where none is named; undefined if
 * this sheet or another one that is shown can be read.
 */
export async function problemOfWorkbook({
  read,
  most,
}: Pick<ExportBytes, 'read' | 'most'>): Promise<string | undefined> {
  let problem: string | undefined;
  const names: (string | undefined)[] = [undefined];
  for (const name of names) {
    try {
      const workbook = await openWorkbook(read(), name);
      if (!workbook) return problemOfBytes(ZIP);
      const { sheet, sheets } = workbook;
      const others = sheets.filter((other) => !other.isHidden && other.name !== sheet);
      if (name === undefined) names.push(...others.map((other) => other.name));
      let isEmpty = true;
      for await (const lines of bounded(workbook.csv(), most)) isEmpty &&= lines.length === 0;
      if (!isEmpty) return undefined;
      problem ??= `The sheet ${shownValue(sheet)} is empty.`;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      problem ??= error.message;
    }
  }
  return problem;
}

/** By the beginning; or by the first part with a byte that is not ASCII, if one follows soon. */
async function detected(bytes: ExportBytes, head: Beginning, isGzip: boolean): Promise<DetectedEncoding> {
  const isEnd = head.isWhole && !bytes.isPart;
  if (isEnd || !isAscii(head.bytes)) return detectEncoding(head.bytes, isEnd);
  let read = 0;
  for await (const chunk of decompressed(bytes, isGzip)) {
    read += chunk.length;
    if (!isAscii(chunk)) return detectEncoding(chunk, false);
    if (read > SEARCHED_BYTES) break;
  }
  return detectEncoding(head.bytes, isEnd);
}

/** @throws FileError when there is a problem */
function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new FileError(problem);
}

/** The container, unless the caller named another format. */
function takenAs(container: Container | undefined, format: Format | undefined): Container | undefined {
  return format === undefined || (container?.format ?? 'csv') === format ? container : undefined;
}

const BINARY =
  'This is not text: it may be a spreadsheet, an image, or in an unknown encoding. Save it as CSV or JSON in UTF-8.';

async function beginsAsGzip(bytes: ExportBytes): Promise<boolean> {
  for await (const chunk of bytes.read()) return chunk[0] === 0x1f && chunk[1] === 0x8b;
  return false;
}

async function* decompressed(
  bytes: ExportBytes,
  isGzip: boolean,
  onRead?: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const raw = counted(bytes.read(), onRead);
  if (!isGzip) return yield* raw;
  const inflated = createGunzip({ chunkSize: CHUNK_BYTES });
  // An error on either side destroys `inflated`, so the loop below throws it.
  pipeline(raw, inflated).catch((error: Error) => inflated.destroy(error));
  yield* bounded(inflated as AsyncIterable<Buffer>, bytes.most);
}

async function* counted(chunks: AsyncIterable<Buffer>, onRead?: (bytes: number) => void): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    onRead?.(read);
    yield chunk;
  }
}

/** @throws FileError when a small file becomes too large */
async function* bounded(chunks: AsyncIterable<Buffer>, most = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    if (read > most) throw new FileError(`The file has more than ${most} bytes after decompression.`);
    yield chunk;
  }
}

async function* named(name: string, records: Records): Records {
  try {
    yield* records;
  } catch (error) {
    throw placed(name, error);
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  Z_DATA_ERROR: 'its gzip data is damaged',
  Z_BUF_ERROR: 'its gzip data is cut off',
};

/** The error with the file's name; errors of the operating system and of zlib as a sentence. */
export function placed(name: string, error: unknown): unknown {
  if (error instanceof FileError) {
    const { message, line } = error;
    const there = new FileError(`${name}${line === undefined ? '' : `, line ${line}`}: ${message}`, line);
    return error instanceof SheetError ? new SheetError(there, error.workbook, name) : there;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return isOfFile(code) ? new FileError(`${name} cannot be read: ${REASONS[code] ?? message}.`) : error;
}

/** Node.js names its errors; PostgreSQL has codes of five characters. */
function isOfFile(code: unknown): code is string {
  return typeof code === 'string' && !/^[0-9A-Z]{5}$/.test(code);
}

export function readerOf(
  format: Format,
  paths: readonly JsonPath[],
  layout: CsvLayout,
): (bytes: AsyncIterable<Buffer>) => Records {
  if (format === 'ndjson') return ndjsonRecords;
  if (format === 'ldif') return ldifRecords;
  return format === 'csv' ? (bytes) => csvRecords(bytes, layout) : (bytes) => jsonRecords(bytes, paths);
}

/** More control characters than that among the first ones: text has next to none. */
const MOST_CONTROLS = 0.05;

/** Whether it has many control characters other than tab and the ends of lines and pages. */
function isBinary(head: string): boolean {
  let controls = 0;
  for (let i = 0; i < head.length; i++) {
    const code = head.charCodeAt(i);
    if (code < 0x09 || (code > 0x0d && code < 0x20)) controls++;
  }
  return controls > head.length * MOST_CONTROLS;
}

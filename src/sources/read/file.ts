/**
 * An export file, gzipped or not, in any supported encoding. It can be read from its beginning any number of times.
 *
 * Standard input can be read only once, so it is first written to a temporary file, which is unlinked before the first
 * byte is written: it disappears with the process, however that ends.
 */
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Format, JsonPath } from '../source.ts';
import { beginningOf, formattedBeginning } from './beginning.ts';
import { type CsvLayout, csvRecords, delimiterOf } from './csv.ts';
import { type Encoding, encodingOf, toUtf8 } from './encoding.ts';
import { jsonRecords } from './json.ts';
import { ldifRecords } from './ldif.ts';
import { ndjsonRecords } from './ndjson.ts';
import { FileError, type Records } from './records.ts';

/** The name of standard input. */
export const STDIN = '/dev/stdin';

const CHUNK_BYTES = 2 ** 18;

export interface FileOptions {
  /** Overrides the format that the content shows. */
  format?: Format | undefined;
  encoding?: Encoding | undefined;
}

export interface ExportFile {
  /** As the caller named it. */
  name: string;
  isGzip: boolean;
  encoding: Encoding;
  format: Format;
  delimiter: string;
  /** Size on disk, in bytes. */
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

/** @throws FileError when it cannot be read */
export async function openExport(
  name: string,
  options: FileOptions = {},
  stdin: Readable = process.stdin,
): Promise<ExportFile> {
  let file: FileHandle | undefined;
  try {
    file = name === STDIN ? await spooled(stdin) : await open(name);
    return await inspect(name, file, options);
  } catch (error) {
    await file?.close();
    if (error instanceof FileError) throw new FileError(placed(name, error), error.line);
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new FileError(`${name} cannot be read: ${REASONS[code] ?? message}.`);
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  Z_DATA_ERROR: 'its gzip data is damaged',
  Z_BUF_ERROR: 'its gzip data is cut off',
};

/** What a failed download leaves: a page of the login, or an error in XML. */
const MARKUP = /^\s*<(?:!doctype|html|head|body|script|!--|\?xml)\b/i;
const IS_MARKUP =
  'This is a web page or XML, not an export. It may be the login page of the old system: download the file again.';

async function inspect(name: string, file: FileHandle, options: FileOptions): Promise<ExportFile> {
  const { size } = await file.stat();
  const isGzip = await beginsAsGzip(file);
  const raw = await beginningOf(bytesOf(file, isGzip));
  const encoding = options.encoding ?? encodingOf(raw.bytes, raw.isWhole);
  const text = () => toUtf8(bytesOf(file, isGzip), encoding);
  const { bytes: head, isWhole, format } = await formattedBeginning(text, options.format);
  if (options.format === undefined && MARKUP.test(head.toString('utf8', 0, 1000))) throw new FileError(IS_MARKUP);
  const delimiter = delimiterOf(head.toString('utf8'));
  return {
    name,
    isGzip,
    encoding,
    format,
    delimiter,
    size,
    head,
    isWhole,
    records: ({ paths, columns }, onRead) =>
      named(name, readerOf(format, paths, { delimiter, columns })(toUtf8(bytesOf(file, isGzip, onRead), encoding))),
    close: () => file.close(),
  };
}

/** Adds the file's name to errors. */
async function* named(name: string, records: Records): Records {
  try {
    yield* records;
  } catch (error) {
    if (error instanceof FileError) throw new FileError(placed(name, error), error.line);
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new FileError(`${name} cannot be read: ${REASONS[code] ?? code}.`);
  }
}

function placed(name: string, { message, line }: FileError): string {
  return `${name}${line === undefined ? '' : `, line ${line}`}: ${message}`;
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

async function* bytesOf(file: FileHandle, isGzip: boolean, onRead?: (bytes: number) => void): AsyncGenerator<Buffer> {
  const raw = rawBytes(file, onRead);
  if (!isGzip) return yield* raw;
  const inflated = createGunzip({ chunkSize: CHUNK_BYTES });
  // An error on either side destroys `inflated`, so the loop below throws it.
  pipeline(raw, inflated).catch((error: Error) => inflated.destroy(error));
  yield* inflated as AsyncIterable<Buffer>;
}

/** The file from its beginning, independent of other readers' positions. */
async function* rawBytes(file: FileHandle, onRead?: (bytes: number) => void): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    onRead?.(at);
    yield buffer.subarray(0, bytesRead);
  }
}

async function beginsAsGzip(file: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0);
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
}

async function spooled(stdin: Readable): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-'));
  const path = join(folder, 'stdin');
  const file = await open(path, 'wx+', 0o600);
  await rm(folder, { recursive: true });
  await file.writeFile(stdin);
  return file;
}

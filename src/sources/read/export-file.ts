/**
 * An export as bytes from anywhere, gzipped or not, in any supported encoding: what it is, and its records. It can be
 * read from its beginning any number of times.
 */
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { Format, JsonPath } from '../source.ts';
import { beginningOf, formattedBeginning } from './beginning.ts';
import { type CsvLayout, csvRecords, delimiterOf } from './csv.ts';
import { type Encoding, encodingOf, toUtf8 } from './encoding.ts';
import { jsonRecords } from './json.ts';
import { ldifRecords } from './ldif.ts';
import { ndjsonRecords } from './ndjson.ts';
import { notAnExport } from './not-an-export.ts';
import { FileError, type Records } from './records.ts';

export const CHUNK_BYTES = 2 ** 18;

export interface FileOptions {
  /** Overrides the format that the content shows. */
  format?: Format | undefined;
  encoding?: Encoding | undefined;
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

export interface ExportFile {
  /** As the caller named it. */
  name: string;
  isGzip: boolean;
  encoding: Encoding;
  format: Format;
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

const REASONS: Record<string, string> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  Z_DATA_ERROR: 'its gzip data is damaged',
  Z_BUF_ERROR: 'its gzip data is cut off',
};

/** @throws FileError when it is not an export */
export async function inspect(bytes: ExportBytes, options: FileOptions = {}): Promise<ExportFile> {
  const { name, size, isPart = false } = bytes;
  const isGzip = await beginsAsGzip(bytes);
  const raw = await beginningOf(decompressed(bytes, isGzip));
  const encoding = options.encoding ?? encodingOf(raw.bytes, raw.isWhole && !isPart);
  const text = () => toUtf8(decompressed(bytes, isGzip), encoding);
  const { bytes: head, isWhole, format } = await formattedBeginning(text, options.format);
  const problem = options.format === undefined ? notAnExport(head.toString('utf8', 0, 4000)) : undefined;
  if (problem !== undefined) throw new FileError(problem);
  const delimiter = delimiterOf(head.toString('utf8'));
  return {
    name,
    isGzip,
    encoding,
    format,
    delimiter,
    size,
    head,
    isWhole: isWhole && !isPart,
    records({ paths, columns }, onRead) {
      const read = readerOf(format, paths, { delimiter, columns });
      return named(name, read(toUtf8(decompressed(bytes, isGzip, onRead), encoding)));
    },
    close: () => bytes.close(),
  };
}

/** The error with the file's name; errors of the operating system and of zlib as a sentence. */
export function placed(name: string, error: unknown): unknown {
  if (error instanceof FileError) {
    const { message, line } = error;
    return new FileError(`${name}${line === undefined ? '' : `, line ${line}`}: ${message}`, line);
  }
  const { code, message } = error as NodeJS.ErrnoException;
  return isOfFile(code) ? new FileError(`${name} cannot be read: ${REASONS[code] ?? message}.`) : error;
}

/** Node.js names its errors; PostgreSQL has codes of five characters. */
function isOfFile(code: unknown): code is string {
  return typeof code === 'string' && !/^[0-9A-Z]{5}$/.test(code);
}

async function* named(name: string, records: Records): Records {
  try {
    yield* records;
  } catch (error) {
    throw placed(name, error);
  }
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

/** @throws FileError when a small file becomes too large */
async function* bounded(chunks: AsyncIterable<Buffer>, most = Number.POSITIVE_INFINITY): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    if (read > most) throw new FileError(`The file has more than ${most} bytes after decompression.`);
    yield chunk;
  }
}

async function* counted(chunks: AsyncIterable<Buffer>, onRead?: (bytes: number) => void): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    onRead?.(read);
    yield chunk;
  }
}

async function beginsAsGzip(bytes: ExportBytes): Promise<boolean> {
  for await (const chunk of bytes.read()) return chunk[0] === 0x1f && chunk[1] === 0x8b;
  return false;
}

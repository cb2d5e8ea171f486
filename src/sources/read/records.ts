/**
 * What all readers of export files share: their records, their errors, their limits, and the encodings they accept.
 */
import { isUtf8 } from 'node:buffer';
import { type Invalid, JsonWindow } from '../../platform/text/json-stream.ts';
import { exactJson } from '../values.ts';

/** One record of a file. */
export interface FileRecord {
  /** The line where it begins, from 1. */
  line: number;
  /** Undefined when the record itself is broken; `problem` then says why. */
  value: unknown;
  /** Such as `is not valid JSON`. */
  problem?: string;
  /** A row with more or fewer cells than the others, which may be shifted. */
  isUneven?: boolean;
}

/** Records come in groups, because passing on single ones costs more than reading them. */
export type Records = AsyncGenerator<FileRecord[]>;

/** The options or files do not fit; the message says what is wrong. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

/** The file cannot be read further: everything after this point would be a guess. */
export class FileError extends UsageError {
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

/** The longest record of an export file, in bytes; independent of the service's limit of an entry. */
export const MAX_RECORD_BYTES = 8 * 2 ** 20;

/** The most cells in a row of CSV: the columns of a sheet in Excel. */
export const MOST_CELLS = 16_384;

/** The window over an export file, with the errors of the converter. */
export class FileWindow extends JsonWindow {
  /** The value between two positions, with all digits of its numbers. @throws FileError */
  value(from: number, end: number): unknown {
    const text = this.text(from, end);
    try {
      return exactJson(text);
    } catch {
      throw this.invalid('syntax');
    }
  }

  /**
   * More bytes are needed for the value that began at `from`.
   * @throws FileError when there are no more, or the value is too long
   */
  needMore(from: number, final: boolean): false {
    if (final) throw this.cutOff();
    if (this.buffer.length - from > MAX_RECORD_BYTES) {
      throw new FileError(`A record is longer than ${MAX_RECORD_BYTES} bytes.`, this.line);
    }
    return false;
  }

  invalid(what: Invalid): FileError {
    return new FileError(`The file is not valid ${what === 'utf8' ? 'UTF-8' : 'JSON'}.`, this.line);
  }

  cutOff(): FileError {
    return new FileError('The file ends in the middle of a value.', this.line);
  }
}

export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;

export type Encoding = (typeof ENCODINGS)[number];

/**
 * A byte order mark decides. Without one, valid UTF-8 counts as UTF-8, and everything else as windows-1252.
 * @param isWhole `head` is the whole file, so no character continues after it
 */
export function encodingOf(head: Buffer, isWhole: boolean): Encoding {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[1] === 0 && head[3] === 0 && head[0] !== 0) return 'utf-16le';
  if (head[0] === 0 && head[2] === 0 && head[1] !== 0) return 'utf-16be';
  return isUtf8(isWhole ? head : withoutCutCharacter(head)) ? 'utf-8' : 'windows-1252';
}

/** Without the bytes of a character that continues after the sample. */
function withoutCutCharacter(head: Buffer): Buffer {
  let at = head.length;
  while (at > 0 && head.length - at < 4 && ((head[at - 1] as number) & 0xc0) === 0x80) at--;
  return at > 0 && (head[at - 1] as number) >= 0xc0 ? head.subarray(0, at - 1) : head;
}

/**
 * The text as UTF-8 without a byte order mark. Text that already is UTF-8 is not validated here: the readers do that.
 */
export async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: Encoding): AsyncGenerator<Buffer> {
  if (encoding === 'utf-8') return yield* withoutMark(chunks);
  const decoder = new TextDecoder(encoding);
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  const last = decoder.decode();
  if (last !== '') yield Buffer.from(last);
}

async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const chunk of chunks) {
    const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    yield hasMark ? chunk.subarray(3) : chunk;
    isFirst = false;
  }
}

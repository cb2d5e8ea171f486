/**
 * What all readers of export files share: their records, their errors and their limits.
 */
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
  /** Why the record is not meant to be read, as a sentence; its value is undefined. */
  skip?: string;
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

/** What all readers of export files return, and how they report a broken file. */
import { UsageError } from '../source.ts';

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

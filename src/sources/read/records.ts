/** What all readers of export files give, and how they say that a file is broken. */
import { UsageError } from '../source.ts';

/** One record of a file. */
export interface FileRecord {
  /** Where it begins, from 1. */
  line: number;
  /** Undefined when the record itself is broken; `problem` then says why. */
  value: unknown;
  /** Such as `is not valid JSON`. */
  problem?: string;
}

/** Records come in groups, as one at a time costs more than reading it. */
export type Records = AsyncGenerator<FileRecord[]>;

/** A file that cannot be read on: everything after this point would be guessed. */
export class FileError extends UsageError {
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }
}

/** A record may be no longer, in bytes. */
export const MAX_RECORD_BYTES = 8 * 2 ** 20;

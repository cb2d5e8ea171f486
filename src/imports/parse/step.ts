/** The output of the body parsers, the same for every format: a sequence of steps. */
import type { ShapedEntries } from './entry-shapes.ts';
import type { ParseError } from './parse-error.ts';

/** One step of the parse, in body order. `org` numbers the organizations of the body from 0. */
export type Step =
  | { type: 'timeout'; value: unknown }
  /** `line`: its line number, in an NDJSON body. */
  | { type: 'orgId'; org: number; value: unknown; line?: number }
  /** `plain`: no string of these entries was written with an escape, so none holds a control character. */
  | { type: 'users'; org: number; entries: unknown[]; plain: boolean }
  /** Users whose entries are found but not parsed; only after `findShaped`. */
  | { type: 'shaped'; org: number; shaped: ShapedEntries }
  | { type: 'orgEnd'; org: number; hasId: boolean }
  | { type: 'unknown'; path: string }
  | { type: 'error'; error: ParseError }
  | { type: 'end'; hasDataOrgs: boolean; hasOrgs: boolean; hasTimeout: boolean };

/** A parser of import bodies: of `dataOrgs` JSON, or of NDJSON. */
export interface BodyParser {
  /** The prefix of an entry's fields in the paths of warnings. */
  readonly entryPath: string;
  /** From now on, common entries may come unparsed, as steps of type `shaped`. Absent: they never do. */
  findShaped?(): void;
  /** Takes the next bytes; returns the steps that they complete. After an `error` step there are no more. */
  push(chunk: Buffer): Step[];
  /** Ends the body; the last step is `end` or `error`. */
  end(): Step[];
}

/** The most bytes of one entry, which is held in memory as a whole. */
export const MAX_ENTRY_BYTES = 8 * 2 ** 20;

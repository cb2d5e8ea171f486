/** What reading a body gives, whatever its format. */
import type { ParseError } from './parse-error.ts';

/** One step of reading, in body order. `org` counts the organizations of the body from 0. */
export type Step =
  | { type: 'timeout'; value: unknown }
  /** `line`: where it stands, in a body of lines. */
  | { type: 'orgId'; org: number; value: unknown; line?: number }
  /** `plain`: their text holds no escape, so no string of theirs holds a control character or a lone surrogate. */
  | { type: 'users'; org: number; entries: unknown[]; plain: boolean }
  | { type: 'orgEnd'; org: number; hasId: boolean }
  | { type: 'unknown'; path: string }
  | { type: 'error'; error: ParseError }
  | { type: 'end'; hasDataOrgs: boolean; hasOrgs: boolean; hasTimeout: boolean };

/** What reads a body: the parser of `dataOrgs`, or of another format with the same steps. */
export interface BodyParser {
  /** What stands before the fields of an entry in the paths of warnings. */
  readonly entryPath: string;
  /** Takes the next bytes; answers what could be read from them. After an `error` step nothing more comes. */
  push(chunk: Buffer): Step[];
  /** The body is over; the last step is `end` or `error`. */
  end(): Step[];
}

/** One entry may not be larger, as it is held whole. */
export const MAX_ENTRY_BYTES = 8 * 2 ** 20;

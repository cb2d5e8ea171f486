/**
 * What one system's export is: how its files are laid out, how they are recognized, and what becomes of a record.
 *
 * A source reads no files: the readers of `read/` give it records. It never throws for what a record holds.
 */
import type { Person, Skipped } from './person.ts';

/** One object of a JSON file, one line of NDJSON, one row of CSV by its column names, or one entry of LDIF. */
export type Fields = Record<string, unknown>;

export type Format = 'json' | 'ndjson' | 'csv' | 'ldif';

export interface ConvertOptions {
  /** Text of the file given with `--hash-config`: what the hashes of all users have in common, such as a signer key. */
  hashConfig?: string | undefined;
  /** Field of `Person` (or `metadata.x`) by column or path, given with `--map`. */
  map?: Readonly<Record<string, string>> | undefined;
}

/** Where the users stand in a JSON document: names of properties, `*` for every element; `['users', '*']`. */
export type JsonPath = readonly string[];

/** The second file, of hashes, that some systems give beside that of the users. */
export interface HashFile {
  /** Whether a record is one of this file and not of the users' file. */
  recognizes(record: Fields): boolean;
  /** What a record of the hash file and its user may have in common: an id, an address. None: it belongs to nobody. */
  keysOfHash(hashRecord: Fields): string[];
  /** The keys under which a user's hash may stand, the best first. */
  keysOfUser(user: Fields): string[];
  /** Puts the hash into the user's record, for `convert` to find; or not, when on a closer look it is another's. */
  join(user: Fields, hashRecord: Fields): Fields;
}

/** What converts; made anew for each run, as options may be parsed once. */
export type Convert = (record: Fields) => Person | Skipped;

export interface Source {
  /** As in `--from`: lower case. */
  readonly name: string;
  /** As people write it. */
  readonly title: string;
  readonly formats: readonly Format[];
  /** For JSON files; of lines and lists of users nothing need be said, nor of `users`, `data` and `results` around a list. */
  readonly jsonPaths?: readonly JsonPath[];
  /** Names of the columns of CSV files that come without a header. */
  readonly csvColumns?: readonly string[];
  /** How sure this source is that the record is one of its users: 0 (no) to 1 (nobody else's looks like this). */
  recognizes(record: Fields, format: Format): number;
  readonly hashFile?: HashFile;
  /** What `--hash-config` must hold, where it is needed. */
  readonly hashConfig?: string;
  /** What is taken for what in files like this one, as lines to show before anything is done. */
  explain?(record: Fields, options: ConvertOptions): string[];
  /** @throws UsageError when the options are wrong, and then only */
  converter(options: ConvertOptions): Convert;
}

/** The caller gave options or files that do not fit; the message says what is wrong. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError';
}

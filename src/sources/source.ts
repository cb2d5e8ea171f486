/**
 * The definition of one system's export: how its files are laid out, recognized and converted.
 *
 * A source reads no files: it gets records from the readers in `read/`. It never throws because of a record's content.
 */
import type { PasswordForm } from '../passwords/forms.ts';
import type { Person, Skipped } from './entry.ts';

/** One object of a JSON file, one line of NDJSON, one row of CSV by its column names, or one entry of LDIF. */
export type Fields = Record<string, unknown>;

export type Format = 'json' | 'ndjson' | 'csv' | 'ldif';

export interface ConvertOptions {
  /** Text of the `--hash-config` file: what the hashes of all users have in common, such as a signer key. */
  hashConfig?: string | undefined;
  /** Field of `Person` (or `metadata.x`) by column or path, given with `--map`. */
  map?: Readonly<Record<string, string>> | undefined;
  /** How hashes that do not say it were made, given with `--hash-format`: `sha1(salt + sha1(password))`. */
  hashFormat?: string | undefined;
  /** What the system did to passwords before it hashed them, given with `--password-form`; absent: as the source says. */
  passwordForms?: readonly PasswordForm[] | undefined;
  /**
   * Passwords that users perhaps do not know (`OldSignIn.password`), given with `--unknown-passwords`: `keep` counts them
   * as known, `drop` drops their hashes; absent: both the password and the other ways in work.
   */
  unknownPasswords?: 'keep' | 'drop' | undefined;
  /** The host that passkeys were made for, where the export does not name it, given with `--passkey-rp-id`. */
  passkeyRpId?: string | undefined;
}

/** In a path: every property of an object, whose name its record gets as `KEY`. */
export const EACH_KEY = '{}';

/** Where the users are in a JSON document: names of properties, `*` for every element; `['users', '*']`. */
export type JsonPath = readonly string[];

/** The separate file of hashes that some systems export in addition to the users. */
export interface HashFile {
  /** Whether a record comes from this file and not from the user file. */
  recognizes(record: Fields): boolean;
  /** What a record of the hash file and its user may share: an id, an address. Empty: it belongs to no user. */
  keysOfHash(hashRecord: Fields): string[];
  /** The keys under which a user's hash may be found, the best first. */
  keysOfUser(user: Fields): string[];
  /**
   * Adds the hash to the user's record, where `convert` finds it; or not, if a closer check shows another user's hash.
   */
  join(user: Fields, hashRecord: Fields): Fields;
}

/** Converts one record. Created for each run, so that options are parsed once. */
export type Convert = (record: Fields) => Person | Skipped;

/** A first reading of all records, before any is converted. */
export interface Survey {
  see(record: Fields): void;
  /** Called when every record was seen. @throws UsageError when the records contradict the options */
  converter(): Convert;
}

export interface KnownFields {
  /** Tables have columns that their applications added, so all records are read before the first is converted. */
  readonly isTable: boolean;
  /** Where the fields of a state are, if not in the record itself. */
  row?(record: Fields): Fields;
  /** Whether the reader reads the field, or leaves it out on purpose. */
  isRead(name: string): boolean;
}

/** Something that users of the system have, and files like these cannot contain. Said once for an import. */
export interface Missing {
  /** Stable, in capitals: `SUPABASE-FACTORS`. */
  id: string;
  what: 'secondFactor' | 'passkey' | 'recoveryCodes' | 'links' | 'ways' | 'password' | 'roles';
  /** One sentence: what these files do not contain. */
  message: string;
  /** The query or call that gets it, and how to add its result so that the converter reads it. */
  remedy: string;
  /** Whether a record shows that the files contain it after all. */
  isIn(record: Fields): boolean;
}

export interface ExportFormat {
  /** The value for `--from`: lower case. */
  readonly name: string;
  /** The system's name as people write it. */
  readonly title: string;
  readonly formats: readonly Format[];
  /** For JSON files. Not needed for lines, lists of users, or a list under `users`, `data` or `results`. */
  readonly jsonPaths?: readonly JsonPath[];
  /** Names of the columns of CSV files that come without a header. */
  readonly csvColumns?: readonly string[];
  /**
   * How certain it is that the record is a user of this source: 0 (not at all) to 1 (no other system's look like this).
   */
  recognizes(record: Fields, format: Format): number;
  readonly hashFile?: HashFile;
  /** What these files cannot contain, or contain only if something is joined to them. */
  readonly missing?: readonly Missing[];
  /** Sentences: when `--hash-config` is needed, and what the file must contain. Shown when the option is missing. */
  readonly hashConfig?: string;
  /** Lines that explain how fields of a file like this one are mapped, shown before the conversion. */
  explain?(record: Fields, options: ConvertOptions): string[];
  /** For files whose columns mean what all of their values say; `converter` is then for single records. */
  survey?(options: ConvertOptions): Survey;
  /** For systems: which fields their readers know, for the checks of the others (system-survey.ts). */
  readonly fields?: KnownFields;
  /** Users may have plain passwords. */
  readonly mayBePlain?: boolean;
  /** @throws UsageError only when the options are wrong */
  converter(options: ConvertOptions): Convert;
}

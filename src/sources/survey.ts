/**
 * The first reading of a file of one's own. What no single record says: whether a column that the caller named exists,
 * whether a `state` is a part of the address, and whether a column of plain passwords holds a mask or one password for
 * all.
 */
import { isMask } from './entry.ts';
import { plainOf } from './hash-forms.ts';
import { isLikeHash } from './hashes.ts';
import { type Decided, type GivenMapping, mappingFor, shapeOf, unclearStates } from './mapping.ts';
import { withoutNullWords } from './null-words.ts';
import { UsageError } from './read/records.ts';
import { openRegionChecks } from './regions.ts';
import type { Convert, Fields, Survey } from './source.ts';
import type { NameMeaning } from './state-names.ts';
import { isHarmless, stateMeaning } from './states.ts';
import { shownValue, valueAt } from './values.ts';

const METADATA = 'metadata.';
/** Columns that a message names. */
const MOST_NAMED = 30;

/** @throws UsageError when a column that the caller named for one state means its opposite */
export function surveyOf(
  given: GivenMapping,
  makeConverter: (given: GivenMapping, decided: Decided) => Convert,
): Survey {
  const missing = new Map(namedColumns(given));
  const columns = new Set<string>();
  const regions = openRegionChecks();
  const unclear = openUnclearCheck((record) => unclearStates(record, given));
  const passwords = openColumnCheck(given.columns);
  const genders = openGenderCheck(given);
  requireSense(given);
  return {
    see(record) {
      for (const column of missing.keys()) if (isThere(record, column)) missing.delete(column);
      if (missing.size > 0 && columns.size < MOST_NAMED) for (const name of Object.keys(record)) columns.add(name);
      const valued = withoutNullWords(record);
      if (given.columns.state === undefined) regions.see(valued);
      passwords.see(valued);
      unclear.see(valued);
      genders.see(valued);
    },
    converter() {
      const [first] = missing;
      if (first && columns.size > 0) throw noColumn(first, columns);
      passwords.require();
      return makeConverter(given, {
        regions: regions.found(),
        states: unclear.states(),
        isSpanish: genders.isSpanish(),
      });
    },
  };
}

/** `M` is masculino for a man, or mujer for a woman: where `H` is written for men and `F` for nobody. */
function openGenderCheck(given: GivenMapping) {
  const letters = new Set<string>();
  let shape = '';
  let column: string | undefined;
  return {
    see(record: Fields): void {
      const next = shapeOf(record);
      if (next !== shape) column = mappingFor(record, given).columns.gender;
      shape = next;
      const value = column === undefined ? undefined : valueAt(record, column);
      if (typeof value === 'string' && value.length < 4) letters.add(value.trim().replace(/\.$/, '').toLowerCase());
    },
    isSpanish: () => letters.has('h') && !letters.has('f'),
  };
}

/** The columns that the caller named, with their fields. */
function namedColumns({ columns, metadata }: GivenMapping): [column: string, field: string][] {
  const fields = Object.entries(columns).map(([field, column]): [string, string] => [column, field]);
  const keys = Object.entries(metadata).map(([key, column]): [string, string] => [column, METADATA + key]);
  return [...fields, ...keys].filter(([column]) => column !== '');
}

function isThere(record: Fields, column: string): boolean {
  return Object.hasOwn(record, column) || valueAt(record, column) !== undefined;
}

export function noColumn([column, field]: [string, string], columns: ReadonlySet<string>): UsageError {
  const named = [...columns]
    .slice(0, MOST_NAMED)
    .map((name) => shownValue(name))
    .join(', ');
  return new UsageError(
    `--map ${field}=${column}: no record has "${column}". The columns are ${named}; a path such as emails.0.address leads into objects and lists.`,
  );
}

const OPPOSITES: Readonly<Record<string, string>> = { inactive: 'disabled', locked: 'locked', deleted: 'deleted' };

/** Whoever maps `enabled=Blocked` would let in all whom the file keeps out. @throws UsageError */
export function requireSense({ columns: { enabled, disabled } }: Pick<GivenMapping, 'columns'>): void {
  const opposite = enabled ? OPPOSITES[stateMeaning(enabled) ?? ''] : undefined;
  if (opposite) throw oppositeOf('enabled', enabled, opposite);
  if (disabled && stateMeaning(disabled) === 'active') throw oppositeOf('disabled', disabled, 'enabled');
}

function oppositeOf(field: string, column: string | undefined, right: string): UsageError {
  return new UsageError(
    `--map ${field}=${column}: the name of the column says the opposite. Use --map ${right}=${column}; rename the column if it is called wrongly.`,
  );
}

/**
 * Columns whose names may mean a state: those whose values are all words for states do. One that may keep somebody out
 * stops the command, as leaving it out could let in whom it keeps out.
 * @param unclearIn the columns of a record @param mustDiffer a column with one value for all is left to it
 */
export function openUnclearCheck(
  unclearIn: (record: Fields) => [path: string, meaning: NameMeaning][],
  { mustDiffer = false } = {},
): UnclearCheck {
  const columns = new Map<string, { isHarmless: boolean; first: string; differs: boolean }>();
  let shape = '';
  let unclear: [path: string, meaning: NameMeaning][] = [];
  return {
    see(record) {
      const next = shapeOf(record);
      if (next !== shape) unclear = unclearIn(record);
      shape = next;
      for (const [path, meaning] of unclear) {
        const value = valueAt(record, path);
        const isNone = value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
        const text = isNone ? '' : JSON.stringify(value);
        const column = columns.get(path) ?? { isHarmless: true, first: text, differs: false };
        columns.set(path, column);
        column.differs ||= text !== column.first;
        column.isHarmless &&= isNone || isHarmless(meaning, value);
      }
    },
    states() {
      const unread = [...columns].filter(([, one]) => !one.isHarmless && (one.differs || !mustDiffer));
      if (unread.length > 0) throw unclearColumns(unread.map(([path]) => path));
      return [...columns.keys()];
    },
    constants: () => [...columns].filter(([, { differs }]) => !differs).map(([path]) => path),
  };
}

export interface UnclearCheck {
  see(record: Fields): void;
  /** The columns that were seen. @throws UsageError */
  states(): string[];
  /** Those with one value for all. */
  constants(): string[];
}

function unclearColumns(paths: readonly string[]): UsageError {
  const named = paths.slice(0, MOST_NAMED).map((path) => shownValue(path));
  const [first] = named;
  return new UsageError(
    `${named.join(', ')}: may say whether a user may sign in, and the name and the values do not tell how. Use --map enabled=${first} (or disabled=, locked=, deleted=, state=), or --map metadata.${first}=${first} to keep it as metadata; --map state= leaves all such columns out.`,
  );
}

/** The check of the column of plain passwords, or of hashes that may say that they are one: `{PLAIN}secret`. */
function openColumnCheck({ password, hash }: GivenMapping['columns']): Omit<PasswordCheck, 'seeHash'> {
  const [field, column] = password ? ['password', password] : ['hash', hash || undefined];
  const check = openPasswordCheck(`--map ${field}=${column}`, {
    hashed: `Use --map hash=${column}.`,
    meant: `Leave it out, so that every user gets a mail to set a password; if it is meant, use --map initialPassword=${column}, which each user must change at the first sign-in.`,
  });
  return {
    see(record) {
      const given = column === undefined ? undefined : valueAt(record as Fields, column);
      check.see(field === 'hash' && typeof given === 'string' ? plainOf(given) : given);
    },
    require: check.require,
  };
}

export interface PasswordCheck {
  see(given: unknown): void;
  /** A user whose password is hashed: one of those who do not have the same plain one. */
  seeHash(): void;
  /** @throws UsageError */
  require(): void;
}

/**
 * Refuses plain passwords that are masks, hashes, or the same for most. The share of a password is a lower bound: a vote
 * of the majority needs no list of all.
 * @param place where they are @param advice sentences for values that are hashes, and for others
 */
export function openPasswordCheck(place: string, advice: { hashed: string; meant: string }): PasswordCheck {
  let candidate: string | undefined;
  let votes = 0;
  let count = 0;
  let masks = 0;
  let hashes = 0;
  let others = 0;
  return {
    seeHash: () => void others++,
    see(value) {
      if (typeof value !== 'string' || value === '' || isNoPassword(value)) return;
      count++;
      if (votes === 0) candidate = value;
      votes += value === candidate ? 1 : -1;
      if (isMask(value)) masks++;
      if (isLikeHash(value.trim())) hashes++;
    },
    require() {
      if (masks > 0) {
        throw new UsageError(
          `${place}: ${masks} of ${count} values are a mask such as ****, which is nobody's password. ${advice.meant}`,
        );
      }
      if (count > 0 && hashes === count) {
        throw new UsageError(
          `${place}: all ${count} values look like password hashes, and each would become a password itself. ${advice.hashed}`,
        );
      }
      const all = count + others;
      if (count > 1 && votes > all / 2) {
        const who = votes === all ? `all ${all}` : `at least ${votes} of ${all}`;
        throw new UsageError(
          `${place}: ${who} users have the same password, so each could sign in as any other. ${advice.meant}`,
        );
      }
    },
  };
}

const NO_PASSWORD = /^(?:[-–—.]{1,2}|n\.?\/?a\.?|nat|nan|null|nil|none|undefined|[[(<]null[\])>]|\\n|#n\/a)$/i;

/** Whether programs write this text where there is no password. */
export function isNoPassword(password: string): boolean {
  return NO_PASSWORD.test(password.trim());
}

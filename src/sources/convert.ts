/**
 * Converts export files to entries of an import's body, as a stream: one user file after the other, joined with the
 * hashes. Detects before that a file which almost certainly comes from another system than the caller named.
 *
 * Guarantee: memory does not grow with the files. The same files and options give the same entries in the same order. A
 * broken record is reported with its position and never ends the run; a file that is broken as a whole does
 * (FileError).
 */
import { type Entry, NOTES, type Note, type Person, toEntry } from './entry.ts';
import { withHashFormat } from './hash-format.ts';
import { unusedHashes } from './hashes.ts';
import { type HashIndex, openHashIndex } from './join.ts';
import { openNullWords, withoutNullWords } from './null-words.ts';
import { isDoubtful } from './read/encoding.ts';
import type { ExportFile } from './read/file.ts';
import { FileError, UsageError } from './read/records.ts';
import { type FileOfSource, type Guess, guessSources, isOfOtherTable } from './recognize.ts';
import type { Convert, ConvertOptions, ExportFormat, Fields, Format, HashFile } from './source.ts';
import { systemConverter, systemSurvey } from './system-survey.ts';
import { isFields } from './values.ts';

export interface ConvertJob {
  source: ExportFormat;
  files: readonly FileOfSource[];
  options: ConvertOptions;
  /** The organization of all users; undefined: each user's own, as the export says. */
  orgId: string | undefined;
  /** Precedes every user id of the export, so that ids of several systems differ. */
  idPrefix?: string | undefined;
  /** Addresses whose dots need quotes get them. */
  quoteAddresses?: boolean | undefined;
}

/** The result of one record: an entry, or the reason why there is none. */
export interface Outcome {
  file: string;
  line: number;
  entry?: Entry;
  /** What was changed or dropped during the conversion. */
  notes: readonly Note[];
  /** Why the record is not a user to import. */
  skip?: string;
  /** Why the record cannot be read. */
  problem?: string;
  /** Ids of what files of this system mostly lack, and this record has. */
  contains?: readonly string[];
}

export interface Conversion {
  outcomes(): AsyncGenerator<Outcome[]>;
  /** After a run: the number of hashes that belong to no user in the user files. */
  unusedHashes(): number;
  close(): Promise<void>;
}

/**
 * Reads the hash files, if there are any; each call of `outcomes` reads the user files.
 * @param onRead is called now and then with the number of bytes read from a file
 * @throws UsageError @throws FileError
 */
export async function openConversion(
  job: ConvertJob,
  onRead?: (file: string, bytes: number) => void,
): Promise<Conversion> {
  withHashFormat(job.source.converter(job.options), job.options); // throws before a file is read
  const users = job.files.filter((file) => !file.isHashes);
  if (users.length === 0) {
    throw new UsageError('Only hashes are given. Add the file of the users, which holds their names and addresses.');
  }
  const convert = await surveyed(
    job,
    recordsOf(users),
    users.some(({ file }) => file.format === 'csv'),
  );
  const hashes = await readHashes(job, onRead);
  return {
    async *outcomes() {
      for (const file of users) yield* outcomesOf(file, job, { convert, hashes }, onRead);
    },
    unusedHashes: () => hashes?.count().unused ?? 0,
    async close() {
      await hashes?.close();
    },
  };
}

/**
 * The converter, after a first reading of all users: texts of tables may have words for null, and some sources look at
 * all values of a column.
 */
async function surveyed(
  { source, options }: Pick<ConvertJob, 'source' | 'options'>,
  all: AsyncIterable<readonly unknown[]>,
  hasNullWords: boolean,
): Promise<Convert> {
  const survey = source.survey ? source.survey(options) : systemSurvey(source, options, hasNullWords);
  const nulls = hasNullWords ? openNullWords() : undefined;
  if (!survey) return withHashFormat(alone(source, options), options);
  for await (const group of all) {
    for (const value of group) {
      if (!isFields(value)) continue;
      nulls?.see(value);
      survey.see(value);
    }
  }
  const convert = withHashFormat(survey.converter(), options);
  return nulls ? (record) => convert(nulls.clean(record)) : convert;
}

/** The converter of records of which each is read alone. */
function alone(source: ExportFormat, options: ConvertOptions): Convert {
  return source.survey ? source.converter(options) : systemConverter(source, options);
}

async function* recordsOf(users: readonly FileOfSource[]): AsyncGenerator<unknown[]> {
  for (const { file, layout } of users) {
    for await (const group of file.records(layout)) yield group.map(({ value }) => value);
  }
}

async function readHashes(
  { source, files }: ConvertJob,
  onRead: ((file: string, bytes: number) => void) | undefined,
): Promise<HashIndex | undefined> {
  const given = files.filter((file) => file.isHashes);
  const { hashFile } = source;
  if (given.length === 0) return undefined;
  if (!hashFile) throw new UsageError(`${source.title} exports have no separate file of hashes: leave out --hashes.`);
  const index = await openHashIndex();
  try {
    for (const { file, layout } of given) {
      for await (const group of file.records(layout, (bytes) => onRead?.(file.name, bytes))) {
        for (const { value, line, problem, skip } of group) {
          if (skip !== undefined) continue;
          // Nobody can tell which user this hash belongs to, so no entry could report that its hash is missing.
          if (!isFields(value))
            throw new FileError(`${file.name}, line ${line}: the record ${problem ?? 'is not an object'}.`, line);
          // Nobody's id is a word for null, and no hash is.
          const record = file.format === 'csv' ? withoutNullWords(value) : value;
          const keys = hashFile.keysOfHash(record);
          if (keys.length > 0) await index.add(keys, record);
        }
      }
    }
    await index.finish();
  } catch (error) {
    await index.close();
    throw error;
  }
  return index;
}

interface Tools {
  convert: Convert;
  hashes: HashIndex | undefined;
}

const NO_NOTES: readonly Note[] = [];

async function* outcomesOf(
  { file, layout }: FileOfSource,
  { source, options, orgId, idPrefix, quoteAddresses }: ConvertJob,
  { convert, hashes }: Tools,
  onRead?: (file: string, bytes: number) => void,
): AsyncGenerator<Outcome[]> {
  for await (const group of file.records(layout, (bytes) => onRead?.(file.name, bytes))) {
    yield group.map(({ line, value, problem, skip, isUneven }) => {
      const place = { file: file.name, line };
      if (skip !== undefined) return { ...place, notes: NO_NOTES, skip };
      if (!isFields(value)) return { ...place, notes: NO_NOTES, problem: problem ?? 'is not an object' };
      const outcome = {
        ...place,
        ...converted(value, source, { options, orgId, idPrefix, quoteAddresses }, { convert, hashes }),
      };
      const more = [...(isUneven ? [NOTES.unevenRow] : []), ...(hasDoubtful(value) ? [NOTES.doubtful] : [])];
      return more.length === 0 ? outcome : { ...outcome, notes: [...outcome.notes, ...more] };
    });
  }
}

/** Whether a text of the record, or of an object or list in it, may be garbled. */
function hasDoubtful(value: unknown, depth = 0): boolean {
  if (typeof value === 'string') return isDoubtful(value);
  if (typeof value !== 'object' || value === null || depth > MOST_DEPTH) return false;
  return Object.values(value).some((inner) => hasDoubtful(inner, depth + 1));
}

/** As deep as the fields of people are. */
const MOST_DEPTH = 6;

export type Converted = Omit<Outcome, 'file' | 'line'>;

function converted(
  value: Fields,
  source: ExportFormat,
  { options, orgId, idPrefix = '', quoteAddresses }: Omit<ConvertJob, 'files' | 'source'>,
  { convert, hashes }: Tools,
): Converted {
  try {
    if (isOfOtherTable(value, source)) return { notes: NO_NOTES, skip: 'A row of another table.' };
    const record = hashes && source.hashFile ? joined(source.hashFile, hashes, value) : value;
    const contains = containedIn(record, source);
    const person = convert(record);
    if ('skip' in person) return { notes: NO_NOTES, skip: person.skip, ...contains };
    const { passwordForms = person.passwordForms } = options;
    const decided = withDecision(person, options.unknownPasswords);
    const { entry, notes } = toEntry({ ...decided, passwordForms }, orgId, {
      quoteAddresses,
      passkeyRpId: options.passkeyRpId,
    });
    if (entry.userId !== undefined) entry.userId = idPrefix + entry.userId;
    return { entry, notes: [...notes, ...unusedHashes(record, person)], ...contains };
  } catch (error) {
    // The record is nested deeper than the stack.
    if (error instanceof RangeError) return { notes: NO_NOTES, problem: 'is nested too deeply' };
    throw error;
  }
}

const PERHAPS_UNKNOWN: Note = {
  id: 'PASSWORD-PERHAPS-UNKNOWN',
  message:
    'The old system may have made up the password of the hash, so the user may not know it. The hash is imported, and the user also counts as one without a password; --unknown-passwords keep or drop decides for all.',
};

/** The person after the decision about passwords that users perhaps do not know; without one, a note asks for it. */
function withDecision(person: Person, decision: ConvertOptions['unknownPasswords']): Person {
  const { oldSignIn } = person;
  if (oldSignIn?.password !== 'perhaps') return person;
  if (decision === 'drop') return { ...person, oldSignIn: { ...oldSignIn, password: 'unknown' } };
  if (decision === undefined) return { ...person, notes: [...(person.notes ?? []), PERHAPS_UNKNOWN] };
  const { password: _, ...known } = oldSignIn;
  return { ...person, oldSignIn: known };
}

/** What the record has of that which files of its system mostly lack. */
function containedIn(record: Fields, { missing = [] }: ExportFormat): Pick<Outcome, 'contains'> {
  const found = missing.filter(({ isIn }) => isIn(record)).map(({ id }) => id);
  return found.length > 0 ? { contains: found } : {};
}

function joined(hashFile: HashFile, hashes: HashIndex, user: Fields): Fields {
  const found = hashes.find(hashFile.keysOfUser(user));
  return found ? hashFile.join(user, found) : user;
}

export type RecordJob = Omit<ConvertJob, 'files'>;

/** All records, where no file holds them, such as those of a running system. */
export interface RecordSurvey {
  /** Reads them. */
  all(): AsyncIterable<readonly Fields[]>;
  /** They are rows of anybody's table, whose texts may be words for null. */
  isTable: boolean;
}

/**
 * The converter of single records, for `recordConverter`, after a first reading of all of them as `openConversion` reads
 * files; undefined if the source needs none. @throws UsageError
 */
export async function surveyRecords(job: RecordJob, { all, isTable }: RecordSurvey): Promise<Convert | undefined> {
  const isNeeded = isTable || job.source.survey || job.source.fields?.isTable;
  return isNeeded ? surveyed(job, all(), isTable) : undefined;
}

/**
 * Converts single records that no file holds.
 * @param convert what `surveyRecords` returned; undefined: each record is converted alone
 * @throws UsageError
 */
export function recordConverter(
  { source, options, ...ids }: RecordJob,
  convert: Convert = withHashFormat(alone(source, options), options),
): (value: Fields) => Converted {
  return (value) => converted(value, source, { ...ids, options }, { convert, hashes: undefined });
}

export interface Contradiction {
  file: ExportFile;
  /** The system that the file seems to come from. */
  other?: ExportFormat | undefined;
  /** The named system has no exports of this format. */
  isOtherFormat: boolean;
}

/**
 * Reasons why these files almost certainly come from another system than the caller named; empty when there are none.
 *
 * Guarantee: a file is never reported when the named system recognizes any of its records. Otherwise it is reported
 * when another system is nearly certain, or when the named system does not export its format. The generic sources
 * contradict no other source; if one of them is named, a fitting system is only hinted at.
 */
export async function contradictionsTo(source: ExportFormat, files: readonly ExportFile[]): Promise<Contradiction[]> {
  const found: Contradiction[] = [];
  for (const file of files) found.push(...contradictionOf(source, file, await guessSources(file)));
  return found;
}

/** From this certainty on, records hardly come from any other system. */
const CERTAIN = 0.8;

/** As `contradictionsTo`, for one file. @param guesses what `guessSources` returned for it */
export function contradictionOf(source: ExportFormat, file: ExportFile, guesses: readonly Guess[]): Contradiction[] {
  const isEmpty = file.isWhole && file.head.toString('latin1').trim() === '';
  if (isEmpty || (!isAnybodys(source) && guesses.some((guess) => guess.source === source))) return [];
  const best = guesses.find((guess) => !isAnybodys(guess.source) && guess.certainty >= CERTAIN);
  const isOtherFormat = !isAnybodys(source) && !hasFormat(source, file.format);
  return best || isOtherFormat ? [{ file, other: best?.source, isOtherFormat }] : [];
}

/** A JSON file can hold the same records as an NDJSON file. */
function hasFormat({ formats }: ExportFormat, format: Format): boolean {
  return formats.includes(format) || (format === 'json' && formats.includes('ndjson'));
}

/** The generic sources: people name them on purpose, to map columns by hand. */
const ANYBODYS = ['csv', 'ndjson'];

/** Whether the source accepts any file of its format. */
export function isAnybodys(source: ExportFormat): boolean {
  return ANYBODYS.includes(source.name);
}

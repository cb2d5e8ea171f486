/**
 * What the uploaded files of a draft are as exports: the system they come from, the columns with examples, and which
 * field each would become. Recognizes them from their beginning, while the rest is still being uploaded.
 *
 * It may compute for seconds: guess-pool.ts calls it in a thread, which is why it uses no store.
 *
 * Guarantee: reads the first megabytes of each file only. A value that looks like a hash, or whose name says that it
 * is a secret, is never returned: only its scheme is.
 */
import type { FileKind } from '../../contract/import-results.ts';
import type { Person } from '../../sources/entry.ts';
import { isHashBeside } from '../../sources/hash-format.ts';
import { hashAt, isName, isOfPassword } from '../../sources/hashes.ts';
import { givenMapping, hasNested, mappingFor, shapeOf } from '../../sources/mapping.ts';
import type { Encoding } from '../../sources/read/encoding.ts';
import { type ExportBytes, type ExportFile, inspect, placed, readerOf, SheetError } from '../../sources/read/file.ts';
import { FileError, UsageError } from '../../sources/read/records.ts';
import type { Sheet } from '../../sources/read/xlsx.ts';
import {
  asFileOf,
  type FileOfSource,
  type Guess,
  guessSources,
  inParts,
  isOfOtherTable,
  whyUnrecognized,
} from '../../sources/recognize.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ExportFormat, Fields, Format } from '../../sources/source.ts';
import { csv, isWholeHash } from '../../sources/systems/mapped.ts';
import { CONTEXT, isFields, isSecretName, textAt } from '../../sources/values.ts';
import type { ConversionOptions } from './draft.ts';

const RECORDS = 200;
const SAMPLES = 5;
const COLUMNS = 200;
const DEPTH = 3;
const LONGEST = 80;
/** What may be a hash under whatever name: long hexadecimal, or long base64 with digits, small and capital letters. */
const DIGEST = /^(?:0x)?(?:[0-9a-f]{32,}|[0-9A-F]{32,})$|^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/.=$:,{}-]{40,}$/;

export interface DraftFile {
  fileId: string;
  kind: FileKind;
}

/** A file whose bytes can be read. */
export interface UploadedFile extends DraftFile {
  bytes: ExportBytes;
}

export interface DraftExport extends DraftFile {
  file: ExportFile;
}

/** An example of a column: its text, or only what it is. */
export interface Sample {
  text?: string;
  /** The scheme of a hash, or `secret`. */
  hidden?: string;
}

export interface Column {
  /** A column, or a path such as `profile.mail`. */
  name: string;
  samples: Sample[];
  /** The field that it becomes; empty when it is not taken. Only for `csv` and `ndjson`. */
  becomes: string;
}

export interface GuessedFile {
  fileId: string;
  name: string;
  kind: FileKind;
  /** It holds hashes for the users of another file. */
  isHashes: boolean;
  format: string;
  encoding: string;
  /** The encodings that fit as well, where it is a guess. */
  alsoFits?: readonly string[];
  /** The share of characters beyond ASCII that may be garbled, from 0 to 1. */
  doubtful: number;
  isGzip: boolean;
  /** Of a workbook. */
  sheet?: string;
  sheets?: readonly Sheet[];
  /** The delimiter of a CSV file; else empty. */
  delimiter: string;
  columns: Column[];
  /** Why no source recognizes it, where the file itself is the reason. */
  problem?: string;
}

export interface DraftGuess {
  /** The likeliest source; empty when it is not certain. */
  source: string;
  /** All sources that the files may come from, the likeliest first. */
  candidates: { source: string; title: string; certainty: number }[];
  files: GuessedFile[];
  /** Columns by field, as `_convert` takes them; empty for a source that knows its own fields. */
  mapping: Record<string, string>;
  /** Whether each of the first users names an organization. */
  namesOrganizations: boolean;
}

export interface GuessOptions {
  /** Default: as recognized. */
  encoding?: Encoding | undefined;
  /** Of workbooks. Default: the first that is not hidden. */
  sheet?: string | undefined;
  /** The name of a source: what the files are, read as its export. Default: as recognized. */
  source?: string | undefined;
}

/**
 * Guesses. A sheet that cannot be read is a problem of its file, so that another sheet can be chosen.
 * @throws UsageError when a file is not an export
 */
export async function guessFiles(uploaded: readonly UploadedFile[], options: GuessOptions = {}): Promise<DraftGuess> {
  const { encoding, sheet } = options;
  try {
    return await guessOf(await inspectAll(uploaded, { encoding, sheet }), options.source);
  } catch (error) {
    if (!(error instanceof SheetError)) throw error;
    const files = uploaded.filter(({ bytes }) => bytes.name === error.fileName).slice(0, 1);
    return {
      ...{ source: '', candidates: [], mapping: {}, namesOrganizations: false },
      files: files.map((file) => withoutSheet(file, error)),
    };
  }
}

/** A workbook whose sheet cannot be read. */
function withoutSheet({ fileId, kind, bytes }: UploadedFile, { message, workbook }: SheetError): GuessedFile {
  const read = { format: 'csv', encoding: 'utf-8', doubtful: 0, isGzip: false, delimiter: ',', columns: [] };
  return { ...read, fileId, name: bytes.name, kind, isHashes: kind === 'hashes', ...workbook, problem: message };
}

async function guessOf(exports: readonly DraftExport[], given: string | undefined): Promise<DraftGuess> {
  const guesses = await guessesOf(exports);
  const certain = certainGuess(guesses);
  const isTable = guesses.length === 0 && exports.every(({ file }) => file.format === 'csv');
  // What nobody recognizes can be read as a table of one's own.
  const source = SOURCES.find(({ name }) => name === given) ?? certain ?? (isTable ? csv : undefined);
  const shown = source ?? guesses[0]?.source;
  const files = shown ? await filesOf(shown, exports) : [];
  const ofUsers = files.findIndex(({ isHashes }) => !isHashes);
  const described: GuessedFile[] = [];
  let mapping: Record<string, string> = {};
  let namesOrganizations = false;
  for (const [i, one] of exports.entries()) {
    const records = await firstRecords(one.file, files[i]);
    if (i === ofUsers) {
      mapping = mappingOf(source, records);
      namesOrganizations = nameOrganizations(source, records);
    }
    const problem = guesses.length > 0 ? undefined : await whyUnrecognized(one.file);
    described.push({
      ...describe(one, files[i], { records, mapping: files[i]?.isHashes ? {} : mapping }),
      ...(problem === undefined ? {} : { problem }),
    });
  }
  const candidates = guesses.map(candidate);
  return { source: certain?.name ?? '', candidates, files: described, mapping, namesOrganizations };
}

function candidate({ source, certainty }: Guess) {
  return { source: source.name, title: source.title, certainty };
}

/** The sources of custom files map columns; all others know their fields. */
function mappingOf(source: ExportFormat | undefined, records: readonly Fields[]): Record<string, string> {
  if (!source || !['csv', 'ndjson'].includes(source.name)) return {};
  const found: Record<string, string> = {};
  const shapes = new Set<string>();
  for (const record of records) {
    const shape = shapeOf(record);
    if (isOfOtherTable(record, source) || (shapes.has(shape) && !hasNested(record))) continue;
    shapes.add(shape);
    // Lines of NDJSON may omit fields that others have.
    for (const [field, column] of Object.entries(mappingFor(record, givenMapping({})).columns)) found[field] ??= column;
  }
  const { password, ...columns } = found;
  // Plain passwords are taken only where somebody names their column, as when the files are read.
  const isHash = columns.hash === undefined && password !== undefined && holdsHashes(records, password);
  return isHash ? { ...columns, hash: password } : columns;
}

function nameOrganizations(source: ExportFormat | undefined, records: readonly Fields[]): boolean {
  const convert = source?.converter({});
  const persons = records.map((record) => convert?.(record)).filter((one) => one !== undefined && !('skip' in one));
  return persons.length > 0 && persons.every((one) => (one as Person).orgId !== undefined);
}

function holdsHashes(records: readonly Fields[], column: string): boolean {
  const first = records.find((record) => textAt(record, column) !== undefined);
  const text = first && textAt(first, column);
  return first !== undefined && text !== undefined && (isWholeHash(text) || isHashBeside(first, text, {}));
}

function describe(
  { fileId, kind, file }: DraftExport,
  read: FileOfSource | undefined,
  { records, mapping }: { records: readonly Fields[]; mapping: Readonly<Record<string, string>> },
): GuessedFile {
  const { name, format, encoding, alsoFits, characters, isGzip, delimiter } = file;
  const becomes = new Map(Object.entries(mapping).map(([field, column]) => [column, field]));
  return {
    fileId,
    name,
    kind,
    format,
    encoding,
    ...(alsoFits ? { alsoFits } : {}),
    doubtful: characters.foreign === 0 ? 0 : characters.doubtful / characters.foreign,
    isGzip,
    ...(file.workbook ?? {}),
    isHashes: read?.isHashes ?? kind === 'hashes',
    delimiter: format === 'csv' ? delimiter : '',
    columns: columnsOf(records).map(([path, samples]) => ({ name: path, samples, becomes: becomes.get(path) ?? '' })),
  };
}

async function firstRecords(
  { format, delimiter, head }: ExportFile,
  read: FileOfSource | undefined,
): Promise<Fields[]> {
  const { paths, columns } = read?.layout ?? { paths: [[], ['*']], columns: undefined };
  const found: Fields[] = [];
  try {
    for await (const group of readerOf(format, paths, { delimiter, columns, isSample: true })(inParts(head))) {
      for (const { value } of group) if (isFields(value)) found.push(value);
      if (found.length >= RECORDS) break;
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error; // the beginning may end in the middle of a record
  }
  return found.slice(0, RECORDS);
}

/** The first columns, each with different examples. */
export function columnsOf(records: readonly Fields[]): [name: string, samples: Sample[]][] {
  const found = new Map<string, Map<string, Sample>>();
  for (const record of records) collect(record, [], found);
  return [...found].map(([name, samples]) => [name, [...samples.values()]]);
}

function collect(record: Fields, above: string[], found: Map<string, Map<string, Sample>>): void {
  for (const [name, value] of Object.entries(record)) {
    // What stands around the records in the file is no field of a user.
    if (name === CONTEXT || !isName(name)) continue;
    const path = [...above, name];
    if (isFields(value) && path.length < DEPTH) {
      collect(value, path, found);
      continue;
    }
    const key = path.join('.');
    if (!found.has(key) && found.size >= COLUMNS) continue;
    const samples = found.get(key) ?? new Map<string, Sample>();
    found.set(key, samples);
    const sample = sampleOf(value, path);
    if (sample && samples.size < SAMPLES) samples.set(JSON.stringify(sample), sample);
  }
}

function sampleOf(value: unknown, path: string[]): Sample | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  // A list or an object may hold anything, and may be nested too deeply to be written as text.
  if (typeof value === 'object') return { hidden: 'secret' };
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const hash = hashAt(text, path, () => true);
  if (hash !== undefined) return { hidden: hash };
  if (DIGEST.test(text)) return { hidden: 'digest' };
  if (isOfPassword(path) || path.some(isSecretName)) return { hidden: 'secret' };
  return { text: text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text };
}

/** The files as exports, by their beginning. @throws UsageError when a file is not an export */
export async function inspectAll(
  files: readonly UploadedFile[],
  options: Pick<ConversionOptions, 'format'> & { encoding?: string | undefined; sheet?: string | undefined } = {},
): Promise<DraftExport[]> {
  const { format, encoding, sheet } = options as { format?: Format; encoding?: Encoding; sheet?: string };
  const found: DraftExport[] = [];
  for (const { fileId, kind, bytes } of files) {
    const file = await inspect(bytes, { format, encoding, sheet }).catch((error) => {
      throw placed(bytes.name, error);
    });
    found.push({ fileId, kind, file });
  }
  if (sheet !== undefined && found.every(({ file }) => file.workbook === undefined))
    throw new UsageError('sheet: none of the files is a workbook (XLSX).');
  return found;
}

/** The sources that all files may come from, the likeliest first, by the certainty of the users' file. */
export async function guessesOf(exports: readonly DraftExport[]): Promise<Guess[]> {
  const lists: Guess[][] = [];
  for (const { file } of exports) lists.push(await guessSources(file));
  return (lists[0] ?? []).filter(({ source }) => lists.every((list) => list.some((guess) => guess.source === source)));
}

/** The likeliest source, unless another one is as likely. */
export function certainGuess([first, second]: readonly Guess[]): ExportFormat | undefined {
  return first && first.certainty > (second?.certainty ?? 0) ? first.source : undefined;
}

/** How a file is read as an export of a source. */
async function fileOf(source: ExportFormat, { file, kind }: DraftExport): Promise<FileOfSource> {
  const known = await asFileOf(source, file);
  return { ...known, isHashes: known.isHashes || kind === 'hashes' };
}

/** How the files are read as exports of a source, without their first records, which may be large. */
export async function filesOf(source: ExportFormat, exports: readonly DraftExport[]): Promise<FileOfSource[]> {
  const files: FileOfSource[] = [];
  for (const one of exports) files.push({ ...(await fileOf(source, one)), first: undefined });
  return files;
}

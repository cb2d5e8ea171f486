/**
 * Opens the export files and determines which system they come from: the one that `--from` names, or a guess from
 * their content, which the caller shows before it acts on it.
 *
 * Guarantee: files that certainly come from another system than `--from` says are not read without a confirmation: read
 * as the wrong one, users would be imported inactive, with other ids, and without their passwords and links.
 */
import { type Contradiction, contradictionsTo, isAnybodys } from '../../sources/convert.ts';
import type { Encoding } from '../../sources/read/encoding.ts';
import { type ExportFile, openExport, STDIN } from '../../sources/read/file.ts';
import { asFileOf, type FileOfSource, type Guess, guessSources, whyUnrecognized } from '../../sources/recognize.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, ExportFormat, Format } from '../../sources/source.ts';
import { shownValue } from '../../sources/values.ts';
import { confirm } from '../terminal/ask.ts';
import type { Shell } from '../terminal/completion.ts';
import { type Failure, wrongUsage } from '../terminal/failure.ts';
import { type Output, printable } from '../terminal/output.ts';
import type { RunOptions } from './options.ts';

export interface FileChoice {
  shell: Pick<Shell, 'stdin'>;
  files: readonly string[];
  /** Files that contain only hashes, whatever they look like. */
  hashes?: readonly string[] | undefined;
  from?: string | undefined;
  format?: Format | undefined;
  encoding?: Encoding | undefined;
  /** Of workbooks. */
  sheet?: string | undefined;
}

export interface Chosen {
  source: ExportFormat;
  files: FileOfSource[];
  isGuess: boolean;
  close(): Promise<void>;
}

const FORMAT_NAMES: Record<Format, string> = { json: 'JSON', ndjson: 'NDJSON', csv: 'CSV', ldif: 'LDIF' };

/** @throws Failure (usage) when the system cannot be determined */
export async function chooseFiles(choice: FileChoice): Promise<Chosen> {
  const opened: ExportFile[] = [];
  const close = async () => void (await Promise.all(opened.map((file) => file.close())));
  try {
    for (const name of [...choice.files, ...(choice.hashes ?? [])])
      opened.push(await openExport(name, choice, choice.shell.stdin));
    if (choice.sheet !== undefined && opened.every(({ workbook }) => workbook === undefined))
      throw wrongUsage('--sheet: none of the files is a workbook (XLSX).');
    const source = choice.from === undefined ? await guessed(opened) : named(choice.from);
    const files: FileOfSource[] = [];
    for (const [i, file] of opened.entries()) {
      const known = await asFileOf(source, file);
      files.push({ ...known, isHashes: known.isHashes || i >= choice.files.length });
    }
    return { source, files, isGuess: choice.from === undefined, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function named(name: string): ExportFormat {
  const found = SOURCES.find((source) => source.name === name);
  if (found) return found;
  throw wrongUsage(`Unknown source "${name}".`, `Use one of ${names(SOURCES)}.`);
}

function names(sources: readonly ExportFormat[]): string {
  return sources.map((source) => source.name).join(', ');
}

/** The one source that all files match. */
async function guessed(files: readonly ExportFile[]): Promise<ExportFormat> {
  const guesses: Guess[][] = [];
  for (const file of files) {
    const found = await guessSources(file);
    if (found.length === 0) throw await unknown(file);
    guesses.push(found);
  }
  const common = (guesses[0] ?? []).filter(({ source }) =>
    guesses.every((list) => list.some((guess) => guess.source === source)),
  );
  const [first, second] = common;
  if (first && first.certainty > (second?.certainty ?? 0)) return first.source;
  const candidates = common.length > 0 ? common : guesses.flat();
  throw wrongUsage(
    'The system that these files come from cannot be determined.',
    `Specify it with --from; candidates are ${names([...new Set(candidates.map(({ source }) => source))])}.`,
  );
}

async function unknown(file: ExportFile): Promise<Failure> {
  const reason = await whyUnrecognized(file);
  if (reason !== undefined) return wrongUsage(reason);
  return wrongUsage(
    `The system that ${file.name} (${FORMAT_NAMES[file.format]}) comes from is not recognized.`,
    `Specify it with --from (${names(SOURCES)}). For any other CSV or NDJSON, use --from csv or --from ndjson and --map.`,
  );
}

/**
 * Lines for each file: what it is recognized as, and how its fields are used if the source explains that. Then what
 * `--hash-config` or a pepper may add, as most hashes do not tell that a parameter is missing.
 */
export function describeFiles(
  { source, files, isGuess }: Chosen,
  options: ConvertOptions & Partial<Pick<RunOptions, 'pepperEnv' | 'pepperMode'>>,
): string[] {
  const lines = files.flatMap(({ file, isHashes, first }) => {
    const what = `${source.title}${isHashes ? ', password hashes' : ''}`;
    const how = [
      file.container ?? FORMAT_NAMES[file.format],
      file.encoding.toUpperCase(),
      ...(file.isGzip ? ['gzip'] : []),
    ].join(', ');
    const name = file.name === STDIN ? 'standard input' : file.name;
    const guess = isGuess ? `, a guess; --from ${source.name} confirms it` : '';
    const explained = (first && source.explain?.(first, options)) ?? [];
    return [`${name}: ${what} (${how})${guess}`, ...sheetLines(file), ...encodingLines(file), ...explained];
  });
  const isGiven = [options.hashConfig, options.pepperEnv, options.pepperMode].some((one) => one !== undefined);
  const isAsked = source.hashConfig !== undefined && !isGiven;
  return isAsked ? [...lines, `Without --hash-config FILE. ${source.hashConfig}`] : lines;
}

/** A line for a workbook with more than one sheet. */
function sheetLines({ workbook }: ExportFile): string[] {
  if (workbook === undefined || workbook.sheets.length < 2) return [];
  const others = workbook.sheets
    .filter(({ name }) => name !== workbook.sheet)
    .map(({ name, isHidden }) => `${shownValue(name)}${isHidden ? ' (hidden)' : ''}`);
  return [`  The sheet ${shownValue(workbook.sheet)} is read; --sheet reads another one: ${others.join(', ')}.`];
}

/** Lines for an encoding that is a guess, or whose characters may be garbled. */
function encodingLines({ encoding, alsoFits, characters: { foreign, doubtful } }: ExportFile): string[] {
  const lines: string[] = [];
  if (alsoFits) {
    const others = alsoFits.length === 0 ? '' : `, such as ${alsoFits.join(', ')}`;
    lines.push(`  The encoding ${encoding} is a guess; --encoding names another one${others}.`);
  }
  if (doubtful > 0) {
    const share = ((100 * doubtful) / foreign).toFixed(1);
    lines.push(
      `  warning: ${doubtful} of the ${foreign} characters beyond ASCII at its beginning (${share} %) may be garbled.`,
    );
  }
  return lines;
}

export interface SourceChoice {
  /** The users' files, as named on the command line; files named by `--hashes` may look like anything. */
  files: readonly string[];
  trustFrom: boolean;
  yes?: boolean;
}

/**
 * Returns when the files may be read as exports of the source. If they contradict it, a person on a terminal is asked;
 * elsewhere, and with `--yes`, the command is refused. `--trust-from` continues in either case.
 * @throws Failure (usage)
 */
export async function confirmSource(
  out: Output,
  { source, files, isGuess }: Chosen,
  choice: SourceChoice,
): Promise<void> {
  if (isGuess) return;
  const given = files.slice(0, choice.files.length).map(({ file }) => file);
  const found = await contradictionsTo(source, given);
  if (found.length === 0) return;
  const what = found.map((one) => sentence(source, one));
  if (choice.trustFrom || isAnybodys(source)) {
    for (const line of what) out.note(line);
    return;
  }
  const readsStdin = choice.files.includes(STDIN);
  const canAsk = choice.yes !== true && out.live && out.input.isTTY === true && !readsStdin && !out.json;
  if (canAsk)
    return confirm(out, `${what.join(' ')} Read ${found.length === 1 ? 'it' : 'them'} as ${source.title} anyway?`);
  throw wrongUsage(what.join('\n'), adviceFor(source, found));
}

function sentence(source: ExportFormat, { file, other }: Contradiction): string {
  const name = file.name === STDIN ? 'standard input' : printable(file.name);
  if (isAnybodys(source))
    return `${name} looks like an export of ${other?.title}; --from ${other?.name} knows all of its fields.`;
  if (other) return `${name} looks like an export of ${other.title}, not of ${source.title}.`;
  const formats = source.formats.map((format) => FORMAT_NAMES[format]).join(' or ');
  return `${name} is ${FORMAT_NAMES[file.format]}; exports of ${source.title} are ${formats}.`;
}

function adviceFor(source: ExportFormat, found: readonly Contradiction[]): string {
  const others = [...new Set(found.flatMap(({ other }) => other?.name ?? []))];
  const use = others.length === 1 ? `Use --from ${others[0]}` : 'Check --from';
  return `${use}. If the files are from ${source.title} after all, add --trust-from.`;
}

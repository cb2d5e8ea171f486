/**
 * Opens the export files and determines which system they come from: the one that `--from` names, or a guess from
 * their content. The caller shows a guess before it acts on it.
 */
import type { Encoding } from '../../sources/read/encoding.ts';
import type { ExportFile } from '../../sources/read/export-file.ts';
import { openExport, STDIN } from '../../sources/read/file.ts';
import { asFileOf, type FileOfSource, type Guess, guessSources } from '../../sources/recognize.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, Format, Source } from '../../sources/source.ts';
import { whyUnrecognized } from '../../sources/unrecognized.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import type { RunOptions } from './run-options.ts';

export interface FileChoice {
  shell: Pick<Shell, 'stdin'>;
  files: readonly string[];
  /** Files that contain only hashes, whatever they look like. */
  hashes?: readonly string[] | undefined;
  from?: string | undefined;
  format?: Format | undefined;
  encoding?: Encoding | undefined;
}

export interface Chosen {
  source: Source;
  files: FileOfSource[];
  isGuess: boolean;
  close(): Promise<void>;
}

export const FORMAT_NAMES: Record<Format, string> = { json: 'JSON', ndjson: 'NDJSON', csv: 'CSV', ldif: 'LDIF' };

/** @throws Failure (usage) when the system cannot be determined */
export async function chooseFiles(choice: FileChoice): Promise<Chosen> {
  const opened: ExportFile[] = [];
  const close = async () => void (await Promise.all(opened.map((file) => file.close())));
  try {
    for (const name of [...choice.files, ...(choice.hashes ?? [])])
      opened.push(await openExport(name, choice, choice.shell.stdin));
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

function named(name: string): Source {
  const found = SOURCES.find((source) => source.name === name);
  if (found) return found;
  throw new Failure(`Unknown source "${name}".`, {
    exitCode: EXIT.usage,
    advice: `Use one of ${names(SOURCES)}.`,
  });
}

function names(sources: readonly Source[]): string {
  return sources.map((source) => source.name).join(', ');
}

/** The one source that all files match. */
async function guessed(files: readonly ExportFile[]): Promise<Source> {
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
  throw new Failure('The system that these files come from cannot be determined.', {
    exitCode: EXIT.usage,
    advice: `Specify it with --from; candidates are ${names([...new Set(candidates.map(({ source }) => source))])}.`,
  });
}

async function unknown(file: ExportFile): Promise<Failure> {
  const reason = await whyUnrecognized(file);
  if (reason !== undefined) return new Failure(reason, { exitCode: EXIT.usage });
  return new Failure(`The system that ${file.name} (${FORMAT_NAMES[file.format]}) comes from is not recognized.`, {
    exitCode: EXIT.usage,
    advice: `Specify it with --from (${names(SOURCES)}). For any other CSV or NDJSON, use --from csv or --from ndjson and --map.`,
  });
}

/**
 * Lines for each file: what it is recognized as, and how its fields are used if the source explains that. Then what
 * `--hash-config` or a pepper may add, as most hashes do not tell that a parameter is missing.
 */
export function describeFiles(
  { source, files, isGuess }: Chosen,
  options: ConvertOptions & Pick<RunOptions, 'pepperEnv' | 'pepperMode'>,
): string[] {
  const lines = files.flatMap(({ file, isHashes, first }) => {
    const what = `${source.title}${isHashes ? ', password hashes' : ''}`;
    const how = [FORMAT_NAMES[file.format], file.encoding.toUpperCase(), ...(file.isGzip ? ['gzip'] : [])].join(', ');
    const name = file.name === STDIN ? 'standard input' : file.name;
    const guess = isGuess ? `, a guess; --from ${source.name} confirms it` : '';
    return [`${name}: ${what} (${how})${guess}`, ...((first && source.explain?.(first, options)) ?? [])];
  });
  const isGiven = [options.hashConfig, options.pepperEnv, options.pepperMode].some((one) => one !== undefined);
  const isAsked = source.hashConfig !== undefined && !isGiven;
  return isAsked ? [...lines, `Without --hash-config FILE. ${source.hashConfig}`] : lines;
}

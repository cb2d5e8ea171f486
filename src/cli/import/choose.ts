/**
 * Opens the export files and settles which system they come from: as `--from` says, or by a guess from their content
 * that the caller shows before anything is done with it.
 */
import type { Encoding } from '../../sources/read/encoding.ts';
import { type ExportFile, openExport, STDIN } from '../../sources/read/file.ts';
import { asFileOf, type FileOfSource, type Guess, guessSources } from '../../sources/recognize.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ConvertOptions, Format, Source } from '../../sources/source.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

export interface FileChoice {
  files: readonly string[];
  /** Files that hold hashes only, whatever they look like. */
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

/** @throws Failure (usage) when it cannot be settled */
export async function chooseFiles(choice: FileChoice): Promise<Chosen> {
  const opened: ExportFile[] = [];
  const close = async () => void (await Promise.all(opened.map((file) => file.close())));
  try {
    for (const name of [...choice.files, ...(choice.hashes ?? [])]) opened.push(await openExport(name, choice));
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
  throw new Failure(`There is no source "${name}".`, {
    exitCode: EXIT.usage,
    advice: `Take one of ${names(SOURCES)}.`,
  });
}

function names(sources: readonly Source[]): string {
  return sources.map((source) => source.name).join(', ');
}

/** The one source that all files fit. */
async function guessed(files: readonly ExportFile[]): Promise<Source> {
  const guesses: Guess[][] = [];
  for (const file of files) {
    const found = await guessSources(file);
    if (found.length === 0) throw unknown(file);
    guesses.push(found);
  }
  const common = (guesses[0] ?? []).filter(({ source }) =>
    guesses.every((list) => list.some((guess) => guess.source === source)),
  );
  const [first, second] = common;
  if (first && first.certainty > (second?.certainty ?? 0)) return first.source;
  const candidates = common.length > 0 ? common : guesses.flat();
  throw new Failure('Which system these files come from cannot be told for sure.', {
    exitCode: EXIT.usage,
    advice: `Say it with --from; it may be ${names([...new Set(candidates.map(({ source }) => source))])}.`,
  });
}

function unknown(file: ExportFile): Failure {
  return new Failure(`${file.name} (${FORMAT_NAMES[file.format]}) is of no system that can be recognized.`, {
    exitCode: EXIT.usage,
    advice: `Say where it comes from with --from (${names(SOURCES)}); any CSV or NDJSON goes with --from csv or --from ndjson and --map.`,
  });
}

/** Lines for each file: what it is taken for, and what is taken of it where that is not the source's own. */
export function describeFiles({ source, files, isGuess }: Chosen, options: ConvertOptions): string[] {
  return files.flatMap(({ file, isHashes, first }) => {
    const what = `${source.title}${isHashes ? ', password hashes' : ''}`;
    const how = [FORMAT_NAMES[file.format], file.encoding.toUpperCase(), ...(file.isGzip ? ['gzip'] : [])].join(', ');
    const name = file.name === STDIN ? 'standard input' : file.name;
    const guess = isGuess ? `, a guess; --from ${source.name} says it for sure` : '';
    return [`${name}: ${what} (${how})${guess}`, ...((first && source.explain?.(first, options)) ?? [])];
  });
}

/**
 * Whether a file is certainly of another system than its owner says.
 *
 * Guarantee: nothing is said of a file in which the named system recognizes anything of its own, nor where no other one is
 * nearly sure. Sources for anybody's files contradict nobody; where one of them is named, a system that fits is only told.
 */
import type { ExportFile } from './read/file.ts';
import { guessSources } from './recognize.ts';
import type { Format, Source } from './source.ts';

/** What a source says of records that are hardly anybody else's. */
const CERTAIN = 0.8;
/** They are given on purpose, to map columns by hand. */
const ANYBODYS = ['csv', 'ndjson'];

export interface Contradiction {
  file: ExportFile;
  /** Whose file it is. */
  other?: Source | undefined;
  /** The named system has no exports of this format. */
  isOtherFormat: boolean;
}

/** What speaks against these files being of the source; nothing does when the list is empty. */
export async function contradictionsTo(source: Source, files: readonly ExportFile[]): Promise<Contradiction[]> {
  const found: Contradiction[] = [];
  for (const file of files) {
    const guesses = await guessSources(file);
    const isEmpty = file.isWhole && file.head.toString('latin1').trim() === '';
    if (isEmpty || (!isAnybodys(source) && guesses.some((guess) => guess.source === source))) continue;
    const best = guesses.find((guess) => !isAnybodys(guess.source) && guess.certainty >= CERTAIN);
    const isOtherFormat = !isAnybodys(source) && !hasFormat(source, file.format);
    if (best || isOtherFormat) found.push({ file, other: best?.source, isOtherFormat });
  }
  return found;
}

/** Whether the source is one of those that take any file of their format. */
export function isAnybodys(source: Source): boolean {
  return ANYBODYS.includes(source.name);
}

/** A JSON file holds what a file of lines does. */
function hasFormat({ formats }: Source, format: Format): boolean {
  return formats.includes(format) || (format === 'json' && formats.includes('ndjson'));
}

/**
 * Detects that a file almost certainly comes from another system than the caller named.
 *
 * Guarantee: a file is never reported when the named system recognizes any of its records. Otherwise it is reported
 * when another system is nearly certain, or when the named system does not export its format. The generic sources
 * contradict no other source; if one of them is named, a fitting system is only hinted at.
 */
import type { ExportFile } from './read/export-file.ts';
import { type Guess, guessSources } from './recognize.ts';
import type { Format, Source } from './source.ts';

/** From this certainty on, records hardly come from any other system. */
const CERTAIN = 0.8;
/** The generic sources: people name them on purpose, to map columns by hand. */
const ANYBODYS = ['csv', 'ndjson'];

export interface Contradiction {
  file: ExportFile;
  /** The system that the file seems to come from. */
  other?: Source | undefined;
  /** The named system has no exports of this format. */
  isOtherFormat: boolean;
}

/** Reasons why these files do not come from the source; empty when there are none. */
export async function contradictionsTo(source: Source, files: readonly ExportFile[]): Promise<Contradiction[]> {
  const found: Contradiction[] = [];
  for (const file of files) found.push(...contradictionOf(source, file, await guessSources(file)));
  return found;
}

/** The same for one file, with the guesses at its source. */
export function contradictionOf(source: Source, file: ExportFile, guesses: readonly Guess[]): Contradiction[] {
  const isEmpty = file.isWhole && file.head.toString('latin1').trim() === '';
  if (isEmpty || (!isAnybodys(source) && guesses.some((guess) => guess.source === source))) return [];
  const best = guesses.find((guess) => !isAnybodys(guess.source) && guess.certainty >= CERTAIN);
  const isOtherFormat = !isAnybodys(source) && !hasFormat(source, file.format);
  return best || isOtherFormat ? [{ file, other: best?.source, isOtherFormat }] : [];
}

/** Whether the source accepts any file of its format. */
export function isAnybodys(source: Source): boolean {
  return ANYBODYS.includes(source.name);
}

/** A JSON file can hold the same records as an NDJSON file. */
function hasFormat({ formats }: Source, format: Format): boolean {
  return formats.includes(format) || (format === 'json' && formats.includes('ndjson'));
}

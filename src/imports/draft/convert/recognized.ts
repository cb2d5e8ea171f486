/** What the uploaded files of a draft are as exports, and the system they come from. No store: threads load it. */
import type { Encoding } from '../../../sources/read/encoding.ts';
import { type ExportBytes, type ExportFile, inspect, placed } from '../../../sources/read/export-file.ts';
import { asFileOf, type FileOfSource, type Guess, guessSources } from '../../../sources/recognize.ts';
import type { Format, Source } from '../../../sources/source.ts';
import type { ConversionOptions } from '../draft.ts';
import type { FileKind } from '../upload/kinds.ts';

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

/** @throws UsageError when a file is not an export */
export async function inspectAll(
  files: readonly UploadedFile[],
  options: ConversionOptions = {},
): Promise<DraftExport[]> {
  const { format, encoding } = options as { format?: Format; encoding?: Encoding };
  const found: DraftExport[] = [];
  for (const { fileId, kind, bytes } of files) {
    const file = await inspect(bytes, { format, encoding }).catch((error) => {
      throw placed(bytes.name, error);
    });
    found.push({ fileId, kind, file });
  }
  return found;
}

/** The sources that all files may come from, the likeliest first, by the certainty of the users' file. */
export async function guessesOf(exports: readonly DraftExport[]): Promise<Guess[]> {
  const lists: Guess[][] = [];
  for (const { file } of exports) lists.push(await guessSources(file));
  return (lists[0] ?? []).filter(({ source }) => lists.every((list) => list.some((guess) => guess.source === source)));
}

/** The likeliest of them, unless another one is as likely. */
export function certainGuess([first, second]: readonly Guess[]): Source | undefined {
  return first && first.certainty > (second?.certainty ?? 0) ? first.source : undefined;
}

/** How a file is read as an export of a source. */
export async function fileOf(source: Source, { file, kind }: DraftExport): Promise<FileOfSource> {
  const known = await asFileOf(source, file);
  return { ...known, isHashes: known.isHashes || kind === 'hashes' };
}

/** The same for all files, without their first records, which may be large. */
export async function filesOf(source: Source, exports: readonly DraftExport[]): Promise<FileOfSource[]> {
  const files: FileOfSource[] = [];
  for (const one of exports) files.push({ ...(await fileOf(source, one)), first: undefined });
  return files;
}

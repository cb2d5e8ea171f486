/** The uploaded files of a draft as exports, and the system they come from. */
import type { Pool } from '../../../db/pool.ts';
import type { Secrets } from '../../../secrets.ts';
import type { Encoding } from '../../../sources/read/encoding.ts';
import { type ExportBytes, type ExportFile, inspect, placed } from '../../../sources/read/export-file.ts';
import { asFileOf, type FileOfSource, type Guess, guessSources } from '../../../sources/recognize.ts';
import { SOURCES } from '../../../sources/registry.ts';
import { type Format, type Source, UsageError } from '../../../sources/source.ts';
import type { ConversionOptions, Draft } from '../draft.ts';
import { openFile, readFile } from '../upload/files.ts';
import type { FileKind } from '../upload/kinds.ts';

export interface ExportDeps {
  pool: Pool;
  secrets: Secrets;
  /** The most bytes of a file after decompression: MAX_IMPORT_BYTES. */
  most: number;
}

export interface DraftExport {
  fileId: string;
  kind: FileKind;
  file: ExportFile;
}

/** The files of users and hashes, as far as they have arrived. @throws UsageError when one is not an export */
export async function openExports(deps: ExportDeps, draft: Draft, options: ConversionOptions): Promise<DraftExport[]> {
  const { format, encoding } = options as { format?: Format; encoding?: Encoding };
  const found: DraftExport[] = [];
  for (const { fileId, kind } of draft.files) {
    if (kind === 'hash_parameters') continue;
    const bytes = await bytesOf(deps, draft.importId, fileId);
    const file = await inspect(bytes, { format, encoding }).catch((error) => {
      throw placed(bytes.name, error);
    });
    found.push({ fileId, kind, file });
  }
  return found;
}

async function bytesOf({ pool, secrets, most }: ExportDeps, importId: string, fileId: string): Promise<ExportBytes> {
  const file = await openFile({ pool, secrets }, importId, fileId);
  return {
    name: file.name || file.kind,
    size: file.size,
    read: () => readFile(pool, file),
    close: async () => {},
    isPart: file.received < file.size,
    most,
  };
}

/** The text of the file of hash parameters, if there is one. */
export async function hashParameters({ pool, secrets }: ExportDeps, draft: Draft): Promise<string | undefined> {
  const found = draft.files.find(({ kind }) => kind === 'hash_parameters');
  if (!found) return undefined;
  const pieces: Buffer[] = [];
  for await (const piece of readFile(pool, await openFile({ pool, secrets }, draft.importId, found.fileId)))
    pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** @throws UsageError */
export function sourceNamed(name: string): Source {
  const found = SOURCES.find((source) => source.name === name);
  if (found) return found;
  throw new UsageError(`source must be one of ${SOURCES.map((source) => source.name).join(', ')}.`);
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

/** How the files are read as exports of a source. */
export async function filesOf(source: Source, exports: readonly DraftExport[]): Promise<FileOfSource[]> {
  const files: FileOfSource[] = [];
  for (const { file, kind } of exports) {
    const known = await asFileOf(source, file);
    files.push({ ...known, isHashes: known.isHashes || kind === 'hashes' });
  }
  return files;
}

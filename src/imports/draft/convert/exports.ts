/** The uploaded files of a draft, read from the database. */
import type { Pool } from '../../../db/pool.ts';
import type { Secrets } from '../../../secrets.ts';
import type { ExportBytes } from '../../../sources/read/export-file.ts';
import { SOURCES } from '../../../sources/registry.ts';
import { type Source, UsageError } from '../../../sources/source.ts';
import type { Draft } from '../draft.ts';
import { openFile, readFile } from '../upload/files.ts';
import type { UploadedFile } from './recognized.ts';

export interface ExportDeps {
  pool: Pool;
  secrets: Secrets;
  /** The most bytes of a file after decompression: MAX_IMPORT_BYTES. */
  most: number;
}

/** The files of users and hashes, as far as they have arrived. */
export async function openFiles(deps: ExportDeps, draft: Draft): Promise<UploadedFile[]> {
  const found: UploadedFile[] = [];
  for (const { fileId, kind } of draft.files) {
    if (kind !== 'hash_parameters') found.push({ fileId, kind, bytes: await bytesOf(deps, draft.importId, fileId) });
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

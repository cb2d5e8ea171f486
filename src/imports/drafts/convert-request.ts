/**
 * The request to convert a draft's files, or to convert them again with another source or mapping; and the uploaded
 * files as exports, read from the database.
 */
import type { z } from 'zod';
import type { convertBody } from '../../contract/import-options.ts';
import { type Caller, requirePermission } from '../../contract/permissions.ts';
import { requireOrg } from '../../directory/organizations.ts';
import type { Pepper } from '../../passwords/pepper.ts';
import { type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { formulaOf } from '../../sources/hash-format.ts';
import type { ExportBytes } from '../../sources/read/file.ts';
import { UsageError } from '../../sources/read/records.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ExportFormat } from '../../sources/source.ts';
import { requireMappable } from '../../sources/system-survey.ts';
import { requireState } from '../entries/states.ts';
import { addAuthor } from '../intake/authority.ts';
import { endChecks } from '../intake/checks.ts';
import { dropPepper, keepPepper } from '../intake/pepper.ts';
import { requireKnown } from '../intake/requirements.ts';
import { changeDraft, type Draft, lockDraft } from './draft.ts';
import { openFile, readFile } from './files.ts';
import type { UploadedFile } from './guess.ts';

export interface ExportDeps {
  pool: Pool;
  secrets: Secrets;
  /** The most bytes of a file after decompression: MAX_IMPORT_BYTES. */
  most: number;
}

/**
 * Requests a conversion, which a worker then makes. A conversion that is under way ends.
 * @param pepper replaces an earlier one; without it, an earlier one stays
 * @throws ApiError 400, 403, 404
 */
export async function requestConversion(
  deps: ExportDeps,
  caller: Caller,
  importId: string,
  body: z.output<typeof convertBody>,
  pepper: Pepper | undefined,
): Promise<void> {
  await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireState(draft, 'convert');
    const missing = draft.files.find(({ size, offset }) => offset < size);
    if (missing) throw notReady(`The file ${missing.name} has not arrived completely.`);
    if (!draft.files.some(({ kind }) => kind === 'users')) throw notReady('The draft has no file of users.');
    if (body.orgId !== undefined) {
      requirePermission(caller, 'convertImport', body.orgId);
      await requireOrg(db, body.orgId);
    }
    if (body.passwordSource !== undefined) await requireKnown(db, body.passwordSource);
    await requireGoodOptions(body, () => hashParameters(deps, draft));
    await addAuthor(db, importId, caller.userId);
    if (pepper) {
      await dropPepper(db, importId);
      await keepPepper(db, deps.secrets, importId, pepper);
    }
    await endChecks(db, importId, { editor: caller.userId, entriesStay: false });
    const emptied = { result: null, error: null, check_id: null, progress: null };
    const values = { ...emptied, conversion: JSON.stringify(body), org_id: body.orgId ?? draft.orgId ?? null };
    await changeDraft(db, importId, 'convert', { isWork: true, values });
  });
}

/** What would fail for every record is told at once. */
async function requireGoodOptions(
  { source, mapping, hashFormat }: z.output<typeof convertBody>,
  parameters: () => Promise<string | undefined>,
): Promise<void> {
  toldAs('hashFormat', () => formulaOf({ hashFormat }));
  if (source === undefined) return;
  const hashConfig = await parameters();
  toldAs('mapping', () => {
    const format = sourceNamed(source);
    requireMappable(format, { map: mapping });
    format.converter({ map: mapping, hashConfig });
  });
}

/** @throws ApiError 400 that names the field */
function toldAs(field: string, action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw invalidArgument('DRAFT-OPTIONS', error.message, [{ field, description: error.message }]);
  }
}

function notReady(message: string): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'DRAFT-INCOMPLETE', message);
}

/** The files of users and hashes, as far as they have arrived. */
export async function openFiles(deps: ExportDeps, draft: Draft): Promise<UploadedFile[]> {
  const found: UploadedFile[] = [];
  for (const { fileId, kind } of draft.files) {
    if (kind !== 'hash_parameters') found.push({ fileId, kind, bytes: await bytesOf(deps, draft.importId, fileId) });
  }
  return found;
}

/** A file, as far as it has arrived. @throws ApiError 404 */
export async function bytesOf(
  { pool, secrets, most }: ExportDeps,
  importId: string,
  fileId: string,
): Promise<ExportBytes> {
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
export function sourceNamed(name: string): ExportFormat {
  const found = SOURCES.find((source) => source.name === name);
  if (found) return found;
  throw new UsageError(`source must be one of ${SOURCES.map((source) => source.name).join(', ')}.`);
}

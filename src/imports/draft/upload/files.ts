/**
 * The files of a draft in the database, and their pieces.
 *
 * Guarantee: the bytes of a file from 0 to `received` are stored, and no others: a piece and the new count are one
 * statement, which writes nothing unless the file ends exactly where the piece begins. So two requests, of whatever
 * processes, never both write the same bytes.
 * On crash: the pieces that were committed are there, and the client continues after them.
 */

import { setImmediate } from 'node:timers/promises';
import { type Db, type Pool, transaction } from '../../../db/pool.ts';
import { ApiError, invalidArgument } from '../../../errors.ts';
import type { Secrets } from '../../../secrets.ts';
import { lockDraft, requireDraftState } from '../draft.ts';
import { queryBytes } from './bytes-query.ts';
import { type FileKey, newFileKey, openFileKey, type Sealer } from './file-key.ts';
import type { FileKind } from './kinds.ts';

/** The most files of one draft. */
const MOST_FILES = 20;
/** Parameters of hashes are a few lines of text. */
const MOST_PARAMETER_BYTES = 2 ** 20;
/** The files of all drafts of an organization together, as a multiple of the largest draft. */
const MOST_DRAFTS_BYTES = 4;
const PART_BYTES = 2 ** 18;

export interface NewFile {
  fileId: string;
  kind: FileKind;
  name: string;
  size: number;
}

export interface OpenFile {
  importId: string;
  fileId: string;
  kind: FileKind;
  name: string;
  size: number;
  received: number;
  key: FileKey;
}

export interface FileDeps {
  pool: Pool;
  secrets: Secrets;
  /** MAX_IMPORT_BYTES. */
  most: number;
}

/** Adds a file to a draft; its entries, if it has some, are then out of date. @throws ApiError 400, 404, 413, 429 */
export async function addFile({ pool, secrets, most }: FileDeps, importId: string, file: NewFile): Promise<void> {
  await transaction(pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireDraftState(draft, ['uploading', 'unreadable', 'draft', 'checked'], 'given another file');
    if (draft.files.length >= MOST_FILES)
      throw invalidArgument('UPLOAD-FILES', `A draft may have at most ${MOST_FILES} files.`);
    const total = draft.files.reduce((sum, { size }) => sum + size, file.size);
    if (total > most) throw tooLarge(`The files of a draft may have at most ${most} bytes together.`);
    if (file.kind === 'hash_parameters' && file.size > MOST_PARAMETER_BYTES)
      throw tooLarge(`A file of hash parameters may have at most ${MOST_PARAMETER_BYTES} bytes.`);
    await requireSpace(db, draft.resourceOwner, file.size, MOST_DRAFTS_BYTES * most);
    await db.query(
      `insert into import_files (import_id, file_id, kind, name, size, key_sealed) values ($1, $2, $3, $4, $5, $6)`,
      [importId, file.fileId, file.kind, file.name, file.size, newFileKey(secrets)],
    );
    await outdate(db, importId);
  });
}

/** Files of discarded drafts count until they are erased, or discarding would let a caller fill the disk. One check at a time. */
async function requireSpace(db: Db, resourceOwner: string, size: number, most: number): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`draft space ${resourceOwner}`]);
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(sum(f.size), 0)::float8 as bytes
     from import_drafts d join imports i on i.id = d.import_id join import_files f using (import_id)
     where i.resource_owner = $1`,
    [resourceOwner],
  );
  if ((rows[0]?.bytes ?? 0) + size <= most) return;
  const message = `The files of all drafts of your organization may have at most ${most} bytes. Discard a draft.`;
  throw new ApiError('RESOURCE_EXHAUSTED', 'UPLOAD-SPACE', message, { retryAfterS: 60 });
}

/** The draft has other files than its entries were made of. */
async function outdate(db: Db, importId: string): Promise<void> {
  await db.query(
    `update import_drafts set state = 'uploading', result = null, error = null, check_id = null, changed_at = now()
     where import_id = $1`,
    [importId],
  );
}

/** @throws ApiError 404 */
export async function openFile(
  { pool, secrets }: Pick<FileDeps, 'pool' | 'secrets'>,
  importId: string,
  fileId: string,
): Promise<OpenFile> {
  const { rows } = await pool.query<
    Omit<OpenFile, 'key' | 'size' | 'received'> & Record<'size' | 'received', string> & { key_sealed: string }
  >({
    name: 'draft-file',
    text: `select import_id as "importId", file_id as "fileId", kind, name, size, received, key_sealed
      from import_files where import_id = $1 and file_id = $2`,
    values: [importId, fileId],
  });
  if (!rows[0]) throw fileNotFound();
  const { key_sealed: sealed, size, received, ...file } = rows[0];
  return { ...file, size: Number(size), received: Number(received), key: openFileKey(secrets, sealed, fileId) };
}

/**
 * Stores the next piece, which must not change before this settles.
 * @throws ApiError 409 when the file ends elsewhere or the draft takes no bytes any more
 */
export async function addPiece(pool: Pool, file: OpenFile, piece: Sealer): Promise<void> {
  const written = await queryBytes(pool, {
    text: `with moved as (
        update import_files f set received = received + $4
        where import_id = $1 and file_id = $2 and received = $3 and received + $4 <= size
          and exists (select from import_drafts d where d.import_id = $1 and d.state = 'uploading')
        returning file_id)
      insert into import_chunks (import_id, file_id, position, bytes) select $1, file_id, $3, $5 from moved`,
    values: [file.importId, file.fileId, piece.position, piece.length],
    bytes: piece.end(),
  });
  if (written !== 1) throw otherOffset();
}

/** Removes a file and what has arrived of it. @throws ApiError 400, 404 */
export async function removeFile(pool: Pool, importId: string, fileId: string): Promise<void> {
  await transaction(pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireDraftState(draft, ['uploading', 'unreadable', 'draft', 'checked'], 'changed');
    const { rowCount } = await db.query('delete from import_files where import_id = $1 and file_id = $2', [
      importId,
      fileId,
    ]);
    if (rowCount === 0) throw fileNotFound();
    await outdate(db, importId);
  });
}

/** The bytes of a file from its beginning, as far as they have arrived, piece by piece. */
export async function* readFile(pool: Pool, file: OpenFile): AsyncGenerator<Buffer> {
  for (let position = 0; position < file.received; ) {
    const { rows } = await pool.query<{ bytes: Buffer }>({
      name: 'read-piece',
      text: 'select bytes from import_chunks where import_id = $1 and file_id = $2 and position = $3',
      values: [file.importId, file.fileId, position],
    });
    if (!rows[0]) throw fileNotFound(); // discarded meanwhile
    const piece = file.key.unseal(rows[0].bytes, position);
    position += piece.length;
    for (let at = 0; at < piece.length; at += PART_BYTES) {
      yield piece.subarray(at, at + PART_BYTES);
      await setImmediate(); // whatever else this process does gets its turn between the parts of a piece
    }
  }
}

function tooLarge(message: string): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE', message, { http: 413 });
}

export function fileNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'UPLOAD-NOT-FOUND', 'The file does not exist.');
}

function otherOffset(): ApiError {
  const message =
    'Upload-Offset must be the number of bytes that have arrived. Ask for it with HEAD, and continue there.';
  return new ApiError('ABORTED', 'UPLOAD-OFFSET', message);
}

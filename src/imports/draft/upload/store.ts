/**
 * The store of the tus server: files of drafts, in PostgreSQL. The id of an upload is `<importId>/<fileId>`.
 *
 * Guarantee: memory is bounded by two pieces for each upload: one that arrives, one that is being stored. A client that
 * sends faster than PostgreSQL stores has to wait.
 * On crash, or when the client goes away: what was stored stays, at most one piece has to be sent again.
 */
import type { Readable } from 'node:stream';
import { DataStore, Upload } from '@tus/server';
import type { Pool } from '../../../db/pool.ts';
import { invalidArgument } from '../../../errors.ts';
import { textProblem } from '../../../fields/fields.ts';
import { SEAL_BYTES } from './file-key.ts';
import { addFile, addPiece, type FileDeps, fileNotFound, type OpenFile, openFile, removeFile } from './files.ts';
import { FILE_KINDS, type FileKind } from './kinds.ts';
import { release } from './release.ts';

const PIECE_BYTES = 2 ** 20;

export class DraftFiles extends DataStore {
  private readonly deps: FileDeps & { uploadPool: Pool };

  constructor(deps: FileDeps & { uploadPool: Pool }) {
    super();
    this.deps = deps;
    this.extensions = ['creation', 'creation-with-upload', 'termination'];
  }

  override async create(upload: Upload): Promise<Upload> {
    const { importId, fileId } = partsOf(upload.id);
    const { filename, kind = 'users' } = upload.metadata ?? {};
    await addFile(this.deps, importId, { fileId, kind: kindOf(kind), name: nameOf(filename), size: upload.size ?? 0 });
    return upload;
  }

  override async getUpload(id: string): Promise<Upload> {
    const { name, kind, size, received } = await this.open(id);
    return new Upload({ id, size, offset: received, metadata: { filename: name, kind } });
  }

  override async write(stream: Readable, id: string, offset: number): Promise<number> {
    const pieces = openPieces(this.deps.uploadPool, await this.open(id), offset);
    try {
      for await (const chunk of stream) await pieces.add(chunk);
    } catch (error) {
      await pieces.end().catch(() => {}); // the first error says why
      throw error;
    }
    return pieces.end();
  }

  override async remove(id: string): Promise<void> {
    const { importId, fileId } = partsOf(id);
    await removeFile(this.deps.pool, importId, fileId);
  }

  private open(id: string): Promise<OpenFile> {
    const { importId, fileId } = partsOf(id);
    return openFile(this.deps, importId, fileId);
  }
}

const FILE_ID = /^[\w-]{1,64}$/;

/** @throws ApiError 404 for a file id that the client made up */
function partsOf(id: string): { importId: string; fileId: string } {
  const [importId = '', fileId = ''] = id.split('/');
  if (!FILE_ID.test(fileId)) throw fileNotFound();
  return { importId, fileId };
}

function kindOf(kind: string | null): FileKind {
  const found = FILE_KINDS.find((one) => one === kind);
  if (found) return found;
  throw badMetadata('kind', `must be one of ${FILE_KINDS.join(', ')}`);
}

function nameOf(filename: string | null | undefined): string {
  const name = filename ?? '';
  const problem = textProblem(name, 200);
  if (problem) throw badMetadata('filename', problem);
  return name;
}

function badMetadata(field: string, problem: string) {
  const where = `Upload-Metadata: ${field}`;
  return invalidArgument('UPLOAD-METADATA', `${where} ${problem}.`, [{ field: where, description: problem }]);
}

/** Encrypts bytes as they arrive, and stores a piece while the next one arrives. */
function openPieces(pool: Pool, file: OpenFile, offset: number) {
  const room = () => Buffer.allocUnsafeSlow(PIECE_BYTES + SEAL_BYTES);
  /** The memory of the next piece, and of the piece that is being stored. */
  let [next, stored] = [room(), room()];
  let piece = file.key.sealer(next, offset);
  let storing: Promise<void> = Promise.resolve();

  async function store(): Promise<void> {
    await storing;
    const { position, length } = piece;
    storing = addPiece(pool, file, piece);
    storing.catch(() => {}); // the next piece or the end reports it
    [next, stored] = [stored, next];
    piece = file.key.sealer(next, position + length);
  }

  return {
    async add(chunk: Buffer): Promise<void> {
      for (let from = 0; from < chunk.length; ) {
        from += piece.add(chunk.subarray(from));
        if (piece.length === PIECE_BYTES) await store();
      }
      release(chunk);
    },
    /** Stores the rest. Returns where the file ends now. */
    async end(): Promise<number> {
      if (piece.length > 0) await store();
      await storing;
      release(next);
      release(stored);
      return piece.position;
    },
  };
}

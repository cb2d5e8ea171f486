/**
 * The tus protocol (1.0, with creation and termination) on the routes of a draft's files, by `@tus/server`, with a
 * store in PostgreSQL. The routes have checked the caller before; errors become the errors of this API. The id of an
 * upload is `<importId>/<fileId>`.
 *
 * Guarantee: memory is bounded by two pieces for each upload, one that arrives and one that is being stored, and by the
 * beginning of the file, by which a file that is no export is refused. A client that sends faster than PostgreSQL
 * stores has to wait. The last bytes of a workbook are answered when it has been read.
 * On crash, or when the client goes away: what was stored stays, at most one piece has to be sent again.
 */
import type { Readable } from 'node:stream';
import { DataStore, Server, Upload } from '@tus/server';
import type { Response as Answer, Request } from 'express';
import { FILE_KINDS, type FileKind } from '../../contract/import-results.ts';
import type { Pool } from '../../platform/db/pool.ts';
import { ApiError, type ErrorId, invalidArgument, type StatusOf } from '../../platform/errors.ts';
import { textProblem } from '../../platform/fields.ts';
import { newId } from '../../platform/ids.ts';
import { isZip } from '../../sources/read/xlsx.ts';
import { bytesOf } from './convert-request.ts';
import {
  addFile,
  addPiece,
  type FileDeps,
  fileNotFound,
  type OpenFile,
  openFile,
  release,
  removeFile,
  SEAL_BYTES,
} from './files.ts';
import { problemOfSheets } from './guess-pool.ts';
import { cutOff, NotAnExport, refusingHead } from './refusals.ts';

const PIECE_BYTES = 2 ** 20;
/** Bytes that are looked at to see whether JSON is complete. */
const END_BYTES = 64;

const FILE_ID = /^[\w-]{1,64}$/;

const PATH = '/admin/v1/imports';

/**
 * The headers that the tus server reads; it refuses some values of others, such as the `X-Forwarded-Proto` of two
 * proxies.
 */
const TO_TUS = /^(?:tus-resumable|upload-.*|content-(?:type|length))$/;
const IS_OF_TUS = /^(?:tus-|upload-|location$|cache-control$)/;

/** Of the protocol. */
const VERSION = '1.0.0';

const STATUS: Record<number, [status: StatusOf<ErrorId>, id: ErrorId]> = {
  400: ['INVALID_ARGUMENT', 'UPLOAD-HEADERS'],
  // tus answers 403 for a missing header.
  403: ['INVALID_ARGUMENT', 'UPLOAD-HEADERS'],
  404: ['NOT_FOUND', 'UPLOAD-NOT-FOUND'],
  409: ['ABORTED', 'UPLOAD-OFFSET'],
  413: ['RESOURCE_EXHAUSTED', 'REQUEST-TOO-LARGE'],
  501: ['UNIMPLEMENTED', 'UPLOAD-HEADERS'],
};

interface Tus {
  /** Reads the request and answers it. @throws ApiError */
  handle(req: Request, res: Answer): Promise<void>;
}

/** The protocol over the store. @param most the largest size of a file */
export function openTus(files: DraftFiles, most: number): Tus {
  const faults = new WeakMap<object, unknown>();
  const named = new WeakMap<object, Record<string, string>>();
  const server = new Server({
    path: PATH,
    datastore: files,
    maxSize: most,
    allowedOrigins: () => false, // src/platform/http/origins.ts decides
    namingFunction: (request) => `${named.get(request)?.importId}/${newId()}`,
    getFileIdFromRequest: (request) => `${named.get(request)?.importId}/${named.get(request)?.fileId}`,
    generateUrl: (_, { id }) => `${PATH}/${id.replace('/', '/files/')}`,
    onResponseError(request, error) {
      faults.set(request, error);
      return undefined;
    },
  });
  return {
    async handle(req, res) {
      res.set('Tus-Resumable', VERSION);
      requireVersion(req, res);
      const body =
        req.method === 'POST' || req.method === 'PATCH' ? req.iterator({ destroyOnReturn: false }) : undefined;
      const request = webRequest(req, body);
      named.set(request, req.params as Record<string, string>);
      try {
        const answer = await server.handleWeb(request);
        const fault = faults.get(request);
        const text = await answer.text();
        if (fault !== undefined || answer.status >= 400) throw apiError(fault, answer.status, text);
        for (const [name, value] of answer.headers) if (IS_OF_TUS.test(name)) res.set(name, value);
        res.status(answer.status).end();
      } finally {
        await body?.return?.(undefined);
      }
    },
  };
}

/** @throws ApiError 412 for another version, as tus requires; the tus server answers 400 */
function requireVersion(req: Request, res: Answer): void {
  const version = req.get('tus-resumable') ?? VERSION;
  if (version === VERSION) return;
  res.set('Tus-Version', VERSION);
  const message = `Tus-Resumable must be ${VERSION}, or be left out.`;
  throw new ApiError('FAILED_PRECONDITION', 'UPLOAD-VERSION', message, { http: 412 });
}

/**
 * The request that the tus server gets. It names no draft: the parameters of the route do, for which the caller was
 * checked. The address that the client wrote may spell the same path in another way, and name another draft in its
 * query.
 */
function webRequest(req: Request, body: AsyncIterable<Buffer> | undefined): globalThis.Request {
  const headers = new Headers({ 'tus-resumable': VERSION });
  for (const [name, value] of Object.entries(req.headers))
    if (TO_TUS.test(name) && typeof value === 'string') headers.set(name, value);
  return new globalThis.Request(`http://localhost${PATH}`, {
    method: req.method,
    headers,
    ...(body ? { body: ReadableStream.from(body), duplex: 'half' } : {}),
  });
}

/** An error of the protocol as an error of this API; any other error unchanged. */
function apiError(fault: unknown, status: number, text: string): unknown {
  const isOfProtocol = fault === undefined || typeof (fault as { status_code?: unknown }).status_code === 'number';
  const known = STATUS[status];
  if (!isOfProtocol || !known) return fault ?? new Error(`tus answered ${status}`);
  const sentence = text.trim().replace(/([^.])$/, '$1.');
  return new ApiError(known[0], known[1], sentence, status === 413 ? { http: status } : {});
}

/** The store of the tus server. */
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
    const file = await this.open(id);
    const pieces = openPieces(this.deps.uploadPool, file, offset);
    try {
      let end: Buffer = Buffer.alloc(0);
      for await (const chunk of refusingHead(stream, offset, file.size)) {
        if (chunk.length > 0) end = Buffer.from(chunk.subarray(-END_BYTES));
        await pieces.add(chunk);
      }
      const length = await pieces.end();
      if (length === file.size && file.kind !== 'hash_parameters') await this.requireWhole(id, end);
      return length;
    } catch (error) {
      await pieces.end().catch(() => {}); // the first error says why
      if (!(error instanceof NotAnExport)) throw error;
      await this.remove(id);
      throw new ApiError('INVALID_ARGUMENT', 'UPLOAD-NOT-EXPORT', `${file.name || 'The file'}: ${error.message}`);
    }
  }

  /** @throws NotAnExport for JSON that was cut off, and for a workbook that cannot be read */
  private async requireWhole(id: string, end: Buffer): Promise<void> {
    const { importId, fileId } = partsOf(id);
    const bytes = await bytesOf(this.deps, importId, fileId);
    const problem = (await beginsAsZip(bytes.read()))
      ? await problemOfSheets({ fileId, kind: 'users', bytes })
      : await cutOff(bytes.read(), { size: bytes.size, end });
    if (problem !== undefined) throw new NotAnExport(problem);
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

async function beginsAsZip(bytes: AsyncIterable<Buffer>): Promise<boolean> {
  for await (const part of bytes) return isZip(part);
  return false;
}

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

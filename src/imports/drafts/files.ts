/**
 * The files of a draft in the database, and their pieces.
 *
 * A piece is encrypted as it arrives, with a key of its file (AES-256-GCM), and sent to PostgreSQL without a copy.
 * The key itself is stored encrypted, so that a change of ENCRYPTION_KEY need not touch the pieces.
 *
 * Guarantee: the bytes of a file from 0 to `received` are stored, and no others: a piece and the new count are one
 * statement, which writes nothing unless the file ends exactly where the piece begins. So two requests, of whatever
 * processes, never both write the same bytes. A piece can be decrypted only as the piece of this file at this
 * position.
 * On crash: the pieces that were committed are there, and the client continues after them.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import pg from 'pg';
import type { FileKind } from '../../contract/import-results.ts';
import { type Db, isShared, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { FILE_KEY_PURPOSE } from '../entries/item.ts';
import { requireState } from '../entries/states.ts';
import { endChecks } from '../intake/checks.ts';
import { changeDraft, lockDraft, readDraft } from './draft.ts';

/** The most files of one draft. */
const MOST_FILES = 20;
/** Parameters of hashes are a few lines of text. */
const MOST_PARAMETER_BYTES = 2 ** 20;
/** The files of all drafts of an organization together, as a multiple of the largest draft. */
const MOST_DRAFTS_BYTES = 4;
const PART_BYTES = 2 ** 18;

const IV_BYTES = 12;
const TAG_BYTES = 16;
/** How much longer a piece is when it is encrypted. */
export const SEAL_BYTES = IV_BYTES + TAG_BYTES;

/** The formats of a parameter in a message Bind. */
const TEXT = 0;
const BINARY = 1;

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
    requireState(draft, 'addFile');
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
    await outdate(db, importId, 'addFile');
  });
}

/**
 * Files of discarded drafts count until they are erased, or discarding would let a caller fill the disk. One check at
 * a time.
 */
async function requireSpace(db: Db, resourceOwner: string, size: number, most: number): Promise<void> {
  await db.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`draft space ${resourceOwner}`]);
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(sum(f.size), 0)::float8 as bytes
     from import_preparations d join imports i on i.id = d.import_id join import_files f using (import_id)
     where i.resource_owner = $1`,
    [resourceOwner],
  );
  if ((rows[0]?.bytes ?? 0) + size <= most) return;
  const message = `The files of all drafts of your organization may have at most ${most} bytes. Discard a draft.`;
  throw new ApiError('RESOURCE_EXHAUSTED', 'UPLOAD-SPACE', message, { retryAfterS: 60 });
}

/** The draft has other files than its entries were made of. */
async function outdate(db: Db, importId: string, action: 'addFile' | 'removeFile'): Promise<void> {
  await endChecks(db, importId, { entriesStay: false });
  await changeDraft(db, importId, action, { values: { result: null, error: null, check_id: null } });
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
 * @throws ApiError 400 IMPORT-STATE when the draft takes no bytes any more; 409 UPLOAD-OFFSET when the file ends elsewhere
 */
export async function addPiece(pool: Pool, file: OpenFile, piece: Sealer): Promise<void> {
  const written = await queryBytes(pool, {
    text: `with moved as (
        update import_files f set received = received + $4
        where import_id = $1 and file_id = $2 and received = $3 and received + $4 <= size
          and exists (select from imports i where i.id = $1 and i.state = 'uploading')
        returning file_id)
      insert into import_chunks (import_id, file_id, position, bytes) select $1, file_id, $3, $5 from moved`,
    values: [file.importId, file.fileId, piece.position, piece.length],
    bytes: piece.end(),
  });
  if (written === 1) return;
  const draft = await readDraft(pool, file.importId);
  if (draft) requireState(draft, 'addPiece');
  throw otherOffset();
}

/** Removes a file and what has arrived of it. @throws ApiError 400, 404 */
export async function removeFile(pool: Pool, importId: string, fileId: string): Promise<void> {
  await transaction(pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireState(draft, 'removeFile');
    const { rowCount } = await db.query('delete from import_files where import_id = $1 and file_id = $2', [
      importId,
      fileId,
    ]);
    if (rowCount === 0) throw fileNotFound();
    await outdate(db, importId, 'removeFile');
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

export interface FileKey {
  /** Begins the piece at this position of the file, which is written into `target`. */
  sealer(target: Buffer, position: number): Sealer;
  /** @throws Error when it is not this piece */
  unseal(sealed: Buffer, position: number): Buffer;
}

/** Encrypts a piece part by part, as it arrives. */
export interface Sealer {
  readonly position: number;
  /** Plain bytes so far. */
  readonly length: number;
  /** @returns how many bytes of the part were taken: all, unless the target is full */
  add(part: Buffer): number;
  /** Returns the encrypted piece, a part of the target. */
  end(): Buffer;
}

/** A new key, as it is stored. */
export function newFileKey(secrets: Secrets): string {
  return secrets.seal(randomBytes(32).toString('base64'), FILE_KEY_PURPOSE);
}

export function openFileKey(secrets: Secrets, sealed: string, fileId: string): FileKey {
  const key = createSecretKey(Buffer.from(secrets.unseal(sealed, FILE_KEY_PURPOSE), 'base64'));
  const about = (position: number) => Buffer.from(`${fileId}:${position}`);
  return {
    sealer(target, position) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(about(position));
      let length = 0;
      return {
        position,
        get length() {
          return length;
        },
        add(part) {
          const taken = part.subarray(0, target.length - SEAL_BYTES - length);
          const encrypted = cipher.update(taken);
          encrypted.copy(target, SEAL_BYTES + length);
          release(encrypted);
          length += taken.length;
          return taken.length;
        },
        end() {
          cipher.final();
          iv.copy(target);
          cipher.getAuthTag().copy(target, IV_BYTES);
          return target.subarray(0, SEAL_BYTES + length);
        },
      };
    },
    unseal(bytes, position) {
      const iv = bytes.subarray(0, IV_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(about(position)).setAuthTag(bytes.subarray(IV_BYTES, SEAL_BYTES));
      const body = decipher.update(bytes.subarray(SEAL_BYTES));
      decipher.final();
      return body;
    },
  };
}

/**
 * A statement whose last parameter is a megabyte or more: its bytes go to the socket as they are.
 *
 * `pg` copies every parameter twice into buffers that it allocates and grows for each statement. For large ones that
 * costs more time than PostgreSQL takes to store them: after some megabytes V8 collects all garbage of the process.
 */
interface BytesQuery {
  text: string;
  /** The parameters before the last one. */
  values: readonly (string | number)[];
  /** The last parameter, a bytea. */
  bytes: Buffer;
}

/** Runs the statement; the bytes must not change before this settles. @returns how many rows it wrote */
export async function queryBytes(pool: Pool, query: BytesQuery): Promise<number> {
  if (isShared(pool)) return transaction(pool, (db) => run(db, query));
  const client = await pool.connect();
  try {
    const written = await run(client, query);
    client.release();
    return written;
  } catch (error) {
    client.release(error as Error); // as `pool.query` does
    throw error;
  }
}

function run(client: pg.PoolClient, query: BytesQuery): Promise<number> {
  return new Promise((resolve, reject) => {
    client.query(
      new Sent(query, (error, result) => {
        if (error) reject(error);
        else resolve(result?.rowCount ?? 0);
      }),
    );
  });
}

type Callback = (error: Error | undefined, result?: pg.QueryResult) => void;

class Sent extends pg.Query {
  readonly #query: BytesQuery;

  constructor(query: BytesQuery, callback: Callback) {
    // Without `values`, `pg` would send a simple query, which has no parameters.
    super({ text: query.text, values: [...query.values, query.bytes], callback } as pg.QueryConfig);
    this.#query = query;
    const { submit } = this;
    this.submit = (connection) => submit.call(this, this.#binding(connection));
  }

  /** The connection, which sends our message Bind instead of its own. `pg` makes the other messages around it. */
  #binding(connection: pg.Connection): pg.Connection {
    const bind = () => {
      const { head, tail } = bindMessage(this.#query);
      for (const part of [head, this.#query.bytes, tail]) connection.stream.write(part);
    };
    return Object.create(connection, { bind: { value: bind } });
  }
}

/**
 * The message around the bytes (PostgreSQL, "Message Formats", Bind): unnamed portal and statement, results as text.
 */
function bindMessage({ values, bytes }: BytesQuery): { head: Buffer; tail: Buffer } {
  const count = values.length + 1;
  const parts = [Buffer.from([0, 0]), int16(count), ...values.map(() => int16(TEXT)), int16(BINARY), int16(count)];
  for (const value of values) {
    const text = Buffer.from(String(value));
    parts.push(int32(text.length), text);
  }
  parts.push(int32(bytes.length));
  const tail = Buffer.concat([int16(1), int16(TEXT)]);
  const before = Buffer.concat(parts);
  const length = 4 + before.length + bytes.length + tail.length;
  return { head: Buffer.concat([Buffer.from('B'), int32(length), before]), tail };
}

function int16(n: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(n);
  return bytes;
}

function int32(n: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(n);
  return bytes;
}

/**
 * Gives the memory of a buffer back at once. V8 would keep it until its next collection, which it begins after a few
 * megabytes of such buffers: an upload would spend most of its time in collections of the whole heap.
 *
 * Nothing may use the buffer afterwards. A buffer that is a part of another one is left to V8.
 */
export function release(buffer: Uint8Array): void {
  const memory = buffer.buffer;
  if (memory instanceof ArrayBuffer && memory.byteLength === buffer.byteLength) memory.transfer(0);
}

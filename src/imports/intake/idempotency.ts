/**
 * `Idempotency-Key`: a request that is sent again is not executed again.
 *
 * The transaction that accepts an import records its key; nothing is reserved before. So a request that was interrupted
 * or refused blocks no other, and when equal requests arrive at once, the first to be accepted is the import of all of
 * them.
 * Guarantee: a caller, a path and a key identify at most one import in 24 hours, whichever process or store fails. A
 * single import that wrote nothing, because of a conflict or its timeout, releases its key. The database holds no key
 * in clear, and of a body only a hash that nobody can compute without ENCRYPTION_KEY, so it does not confirm a guess.
 */
import { createHash, createHmac, type Hash } from 'node:crypto';
import type { Request } from 'express';
import type { Db } from '../../platform/db/pool.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';

/** A request with a key, and the hash of the part of its body that has been read. */
export interface KeyedRequest {
  /** The user id of the caller. */
  caller: string;
  path: string;
  /** The key's hash, as it is stored. */
  key: string;
  /** Takes the decoded bytes of the body. */
  hash: Hash;
  secrets: Pick<Secrets, 'keys'>;
}

/** The import recorded for a key. */
export interface Recorded {
  importId: string;
  requestHash: Buffer;
  /** The answer of a single import, once there is one. */
  answer: unknown;
}

/** Another request with the same key and the same body was accepted first. */
export class AlreadyAccepted extends Error {
  readonly recorded: Recorded;
  constructor(recorded: Recorded) {
    super('the same request was accepted before');
    this.recorded = recorded;
  }
}

const HEADER = 'Idempotency-Key';
const KEY = /^[\x20-\x7e]{1,255}$/;
const EXPIRED = `k.created_at < now() - interval '24 hours'`;
const VOID = `(${EXPIRED} or exists (
  select from imports i where i.id = k.import_id and i.kind = 'single' and i.state not in ('running', 'succeeded')))`;

/**
 * @param secrets whose keys the hash of the request is stored with
 * @param rest what else, in addition to body and query, must be equal in two equal requests
 * @returns undefined without a key
 * @throws ApiError 400 for a key that is empty, too long or not printable
 */
export function keyedRequest(
  req: Pick<Request, 'get' | 'query'>,
  secrets: Pick<Secrets, 'keys'>,
  caller: string,
  path: string,
  rest: string,
): KeyedRequest | undefined {
  const key = req.get(HEADER);
  if (key === undefined) return undefined;
  if (!KEY.test(key)) {
    const description = 'must be 1 to 255 printable ASCII characters';
    throw invalidArgument('IMPORT-KEY', `${HEADER} ${description}.`, [{ field: HEADER, description }]);
  }
  const query = Object.entries(req.query).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    caller,
    path,
    key: keyHash(caller, path, key),
    hash: createHash('sha256').update(`${JSON.stringify([rest, query])}\n`),
    secrets,
  };
}

/**
 * The hashes that the whole request may have in the database, once its body has been read: the one to store, then those
 * of the other keys, and without a key, as earlier versions stored it.
 */
export function requestHashes({ hash, secrets }: KeyedRequest): Buffer[] {
  const digest = hash.digest();
  const keyed = secrets.keys('idempotency').map((key) => createHmac('sha256', key).update(digest).digest());
  return [...keyed, digest];
}

/**
 * Not keyed: every process must find the same row, also while ENCRYPTION_KEY is being replaced. A key is no credential,
 * as it works only with its caller's token; the hash hides what a key tells, such as the name of a file or a customer.
 * The caller is part of it, so that equal keys of several callers do not show. Migration 029 computes the same.
 */
function keyHash(caller: string, path: string, key: string): string {
  return `sha256:${createHash('sha256').update(`${caller}\n${path}\n${key}`).digest('hex')}`;
}

/** The import currently recorded for the key, if any. */
export async function findKey(db: Db, { caller, path, key }: KeyedRequest): Promise<Recorded | undefined> {
  const { rows } = await db.query<Recorded>(
    `select import_id as "importId", request_hash as "requestHash", answer from idempotency_keys k
     where caller = $1 and path = $2 and key = $3 and not ${VOID}`,
    [caller, path, key],
  );
  return rows[0];
}

/**
 * Records the import for the key, in the transaction that accepts it. Waits for a concurrent one with the same key.
 * @param hashes see `requestHashes`
 * @throws AlreadyAccepted when an equal request was accepted first
 * @throws ApiError 409 when the key was used for a different request
 */
export async function claimKey(db: Db, request: KeyedRequest, hashes: Buffer[], importId: string): Promise<void> {
  const { caller, path, key } = request;
  const { rowCount } = await db.query(
    `insert into idempotency_keys as k (caller, path, key, request_hash, import_id) values ($1, $2, $3, $4, $5)
     on conflict (caller, path, key) do update set
       request_hash = excluded.request_hash, import_id = excluded.import_id, answer = null, created_at = now()
     where ${VOID}`,
    [caller, path, key, hashes[0], importId],
  );
  if (rowCount === 1) return;
  const recorded = await findKey(db, request);
  // The key expired between the two statements.
  if (!recorded) return claimKey(db, request, hashes, importId);
  requireSame(recorded, hashes);
  throw new AlreadyAccepted(recorded);
}

/** @throws ApiError 409 when the key was used for a different request */
export function requireSame({ requestHash }: Recorded, hashes: Buffer[]): void {
  if (hashes.some((hash) => hash.equals(requestHash))) return;
  const message = `This ${HEADER} was already used for a different request. Send a new key.`;
  throw new ApiError('ALREADY_EXISTS', 'IMPORT-KEY-REUSED', message);
}

/** Stores the answer of a single import, so that a repeated request gets the same answer even if the user changes. */
export async function keepAnswer(db: Db, request: KeyedRequest, importId: string, answer: unknown): Promise<void> {
  await db.query(
    `update idempotency_keys set answer = $5 where caller = $1 and path = $2 and key = $3 and import_id = $4`,
    [request.caller, request.path, request.key, importId, JSON.stringify(answer)],
  );
}

/** Removes one batch of expired keys; returns how many. */
export function sweepKeys(db: Db): Promise<number> {
  return sweepRows(db, { table: 'idempotency_keys k', where: EXPIRED, order: 'created_at' });
}

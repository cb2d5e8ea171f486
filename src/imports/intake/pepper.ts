/**
 * The pepper of an import: two headers of the request, never its URL, which logs and proxies keep.
 *
 * Guarantee: it is stored encrypted, in the transaction that accepts the import or keeps the draft; a dry run stores
 * none. It is erased when no user needs it any more, see `sweepPeppers`.
 */
import type { Request } from 'express';
import { PEPPER_MODES, type PepperMode, sourceOf } from '../../passwords/marks.ts';
import { type Pepper, pepperedHash, pepperSeal } from '../../passwords/pepper.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { invalidArgument } from '../../platform/errors.ts';
import type { Item } from '../entries/item.ts';

const HEADER = 'Password-Pepper';
const MODE_HEADER = 'Password-Pepper-Mode';
const MOST_BYTES = 1024;
/** bcrypt uses 72 bytes: after a longer text before it, any password would be right. */
const MOST_PREFIX_BYTES = 56;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** @throws ApiError 400 IMPORT-PEPPER, which never repeats the pepper */
export function readPepper(req: Pick<Request, 'get'>): Pepper | undefined {
  const [text, given] = [req.get(HEADER), req.get(MODE_HEADER)];
  if (text === undefined && given === undefined) return undefined;
  const mode = (given ?? 'suffix') as PepperMode;
  if (!PEPPER_MODES.includes(mode)) throw badPepper(MODE_HEADER, `must be one of ${PEPPER_MODES.join(', ')}`);
  const bytes = BASE64.test(text ?? '') ? Buffer.from(text ?? '', 'base64') : Buffer.alloc(0);
  const most = mode === 'prefix' ? MOST_PREFIX_BYTES : MOST_BYTES;
  const secret = bytes.toString();
  const isText = bytes.equals(Buffer.from(secret));
  if (bytes.length === 0 || bytes.length > most || !isText)
    throw badPepper(HEADER, `must be the base64 of 1 to ${most} bytes of UTF-8`);
  return { mode, secret };
}

/** Marks the hash of an item, if it has one. */
export function takePepper(item: Item, importId: string): void {
  if (item.state === 'failed' || item.passwordHash === null || sourceOf(item.passwordHash) !== undefined) return;
  item.passwordHash = pepperedHash(importId, item.passwordHash);
}

export async function keepPepper(db: Db, secrets: Secrets, importId: string, pepper: Pepper): Promise<void> {
  const sealed = secrets.seal(pepper.secret, pepperSeal(importId));
  await db.query('insert into import_peppers (import_id, mode, sealed) values ($1, $2, $3)', [
    importId,
    pepper.mode,
    sealed,
  ]);
}

/** Gives the one stored item of an import its pepper. */
export async function addPepper(db: Db, secrets: Secrets, importId: string, pepper: Pepper): Promise<void> {
  await keepPepper(db, secrets, importId, pepper);
  await db.query('update import_items set password_hash = $2 || password_hash where import_id = $1', [
    importId,
    pepperedHash(importId, ''),
  ]);
}

/** Before the draft gets another one. */
export async function dropPepper(db: Db, importId: string): Promise<void> {
  await db.query('delete from import_peppers where import_id = $1', [importId]);
}

/** The id of an import or draft whose hashes need its pepper, else null. */
export async function needsPepper(db: Db, importId: string): Promise<string | null> {
  const { rowCount } = await db.query('select from import_peppers where import_id = $1', [importId]);
  return rowCount ? importId : null;
}

function badPepper(field: string, description: string) {
  return invalidArgument('IMPORT-PEPPER', `${field} ${description}.`, [{ field, description }]);
}

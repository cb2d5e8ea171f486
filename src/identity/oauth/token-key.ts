/**
 * The key under which a session, grant, code or token is stored: a SHA-256, from which the issued value cannot be
 * recovered.
 *
 * A device code that was found by its user code is then identified by its row, as the user does not have the device
 * code. Such a row handle is refused where a client sends a device code (`patches/params.ts`).
 *
 * A JWT is stored under a handle, because the protocol library refuses to look up a JWT (`patches/params.ts`). Only a
 * holder of the JWT can compute the handle; the database holds neither.
 */
import { createHash } from 'node:crypto';

/** Compact serialization of RFC 7515 section 7.1; the opaque tokens hold no dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** The id that the library uses for a JWT. */
export function jwtHandle(jwt: string): string {
  return `jwt~${sha256(jwt).toString('base64url')}`;
}

/** No generated id contains a `~`. */
const ROW = 'row~';

/** The id that the library uses for a model whose row was not found by its own id. */
export function rowHandle(key: Buffer): string {
  return ROW + key.toString('base64url');
}

export function isRowHandle(id: string): boolean {
  return id.startsWith(ROW);
}

/**
 * @param kind the library's name of the model, such as `AccessToken`
 * @param id a token as issued, or its handle
 */
export function modelKey(kind: string, id: string): Buffer {
  if (kind === 'DeviceCode' && isRowHandle(id)) return Buffer.from(id.slice(ROW.length), 'base64url');
  return sha256(`${kind}:${JWT.test(id) ? jwtHandle(id) : id}`);
}

/** Hash of the code that the user types (RFC 8628), as the library normalizes it. */
export function userCodeHash(userCode: string): Buffer {
  return sha256(`user code:${userCode}`);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

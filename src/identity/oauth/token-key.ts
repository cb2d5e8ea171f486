/**
 * Under which key a session, grant, code or token is stored: a SHA-256, from which what was handed out cannot be made.
 *
 * A device code that is found by the code which a person types is known by its row from then on, as the person does not
 * have the device code: what names the row is refused where a device code is shown (`params.ts`).
 *
 * A JWT goes under a handle of its own, because the protocol library refuses to look a JWT up (see `params.ts`). Whoever
 * knows the handle has held the JWT; the database knows neither.
 */
import { createHash } from 'node:crypto';

/** Compact serialization of RFC 7515 section 7.1; the opaque tokens hold no dot. */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** What the library knows a JWT by. */
export function jwtHandle(jwt: string): string {
  return `jwt~${sha256(jwt).toString('base64url')}`;
}

/** No id that is made up has a `~` in it. */
const ROW = 'row~';

/** What the library knows a model by whose row was found by something else than its id. */
export function rowHandle(key: Buffer): string {
  return ROW + key.toString('base64url');
}

export function isRowHandle(id: string): boolean {
  return id.startsWith(ROW);
}

/**
 * @param kind the library's name of the model, such as `AccessToken`
 * @param id a token as it was handed out, or the handle of one
 */
export function modelKey(kind: string, id: string): Buffer {
  if (kind === 'DeviceCode' && isRowHandle(id)) return Buffer.from(id.slice(ROW.length), 'base64url');
  return sha256(`${kind}:${JWT.test(id) ? jwtHandle(id) : id}`);
}

/** Of the code that a person types (RFC 8628), as the library normalizes it. */
export function userCodeHash(userCode: string): Buffer {
  return sha256(`user code:${userCode}`);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

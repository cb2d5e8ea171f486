/**
 * Under which key a session, grant, code or token is stored: a SHA-256, from which what was handed out cannot be made.
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

/**
 * @param kind the library's name of the model, such as `AccessToken`
 * @param id a token as it was handed out, or the handle of one
 */
export function modelKey(kind: string, id: string): Buffer {
  return sha256(`${kind}:${JWT.test(id) ? jwtHandle(id) : id}`);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

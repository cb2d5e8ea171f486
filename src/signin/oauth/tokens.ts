/**
 * Lifetimes of what the authorization server issues, in seconds; when refresh tokens are rotated; and the key under
 * which a session, grant, code or token is stored: a SHA-256, from which the issued value cannot be recovered.
 *
 * A device code that was found by its user code is then identified by its row, as the user does not have the device
 * code. Such a row handle is refused where a client sends a device code (`adaptParams` in patches.ts).
 *
 * A JWT is stored under a handle, because the protocol library refuses to look up a JWT (`adaptParams` in patches.ts).
 * Only a holder of the JWT can compute the handle; the database holds neither.
 */
import { hash } from 'node:crypto';
import type { AccessToken, Client, Configuration, KoaContextWithOIDC, RefreshToken, Session } from 'oidc-provider';
import { CONSOLE_CLIENT, CONSOLE_SESSION_S } from '../../contract/own-clients.ts';
import type { Db } from '../../platform/db/pool.ts';
import { sweepRows } from '../../platform/db/sweep.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const ACCESS_TOKEN = HOUR;
/** After this time without an authorization request, the user must log in again. */
const SESSION_IDLE = 7 * DAY;
/** After this time the user must log in again, however often the session was used. */
const SESSION_ABSOLUTE = 14 * DAY;
/** The lifetime of the session of a browser in which nobody has logged in yet. */
const NOBODYS_SESSION = HOUR;
const REFRESH_TOKEN_IDLE = 30 * DAY;
/** After this time a user must log in again, however often the token was rotated. */
const REFRESH_TOKEN_ABSOLUTE = 90 * DAY;
/** A grant outlives every refresh token issued from it. */
export const GRANT = REFRESH_TOKEN_ABSOLUTE + DAY;

export const LIFETIMES: NonNullable<Configuration['ttl']> = {
  AccessToken: accessTokenLifetime,
  ClientCredentials: ACCESS_TOKEN,
  AuthorizationCode: MINUTE,
  DeviceCode: 10 * MINUTE,
  IdToken: HOUR,
  Interaction: HOUR,
  Session: sessionLifetime,
  Grant: GRANT,
  RefreshToken: refreshTokenLifetime,
};

/** The token of the console never leaves this service, and ends with the login in the browser. */
function accessTokenLifetime(_ctx: KoaContextWithOIDC, _token: AccessToken, client: Client): number {
  return client.clientId === CONSOLE_CLIENT ? CONSOLE_SESSION_S : ACCESS_TOKEN;
}

/** The lifetime of a login in a browser, for which the library asks at each use. */
function sessionLifetime(_ctx: KoaContextWithOIDC, { accountId, loginTs }: Session): number {
  if (!accountId) return NOBODYS_SESSION;
  const left = SESSION_ABSOLUTE - (loginTs ? Math.floor(Date.now() / 1000) - loginTs : 0);
  return Math.max(1, Math.min(SESSION_IDLE, left));
}

function refreshTokenLifetime(_ctx: KoaContextWithOIDC, token: RefreshToken): number {
  const left = REFRESH_TOKEN_ABSOLUTE - (token.iiat ? Math.floor(Date.now() / 1000) - token.iiat : 0);
  return Math.max(1, Math.min(REFRESH_TOKEN_IDLE, left));
}

/**
 * A public client gets a new refresh token with each use, as only the token authenticates it; reuse of an old one after
 * its grace period revokes the grant (RFC 9700 section 4.14.2). A client with a secret keeps its token until it is
 * about to expire.
 */
export function rotateRefreshToken(ctx: KoaContextWithOIDC): boolean {
  const { Client: client, RefreshToken: token } = ctx.oidc.entities;
  return client?.tokenEndpointAuthMethod === 'none' || (token?.ttlPercentagePassed() ?? 0) >= 70;
}

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

/** Whether an id is a handle of `rowHandle`. */
export function isRowHandle(id: string): boolean {
  return id.startsWith(ROW);
}

/**
 * The key under which a model is stored.
 * @param kind the library's name of the model, such as `AccessToken`
 * @param id a token as issued, or its handle
 */
export function modelKey(kind: string, id: string): Buffer {
  if (kind === 'DeviceCode' && isRowHandle(id)) return Buffer.from(id.slice(ROW.length), 'base64url');
  return sha256(`${kind}:${JWT.test(id) ? jwtHandle(id) : id}`);
}

/** The hash of the code that the user types (RFC 8628), as the library normalizes it. */
export function userCodeHash(userCode: string): Buffer {
  return sha256(`user code:${userCode}`);
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/**
 * Removes one batch of expired sessions, grants, codes and tokens; returns how many. `directory/revocation.ts` revokes.
 */
export function sweepExpired(db: Db): Promise<number> {
  return sweepRows(db, { table: 'oauth_models', where: 'expires_at < now()', order: 'expires_at' });
}

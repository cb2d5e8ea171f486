/** Lifetimes of what the authorization server issues, in seconds, and when refresh tokens are rotated. */
import type { AccessToken, Client, Configuration, KoaContextWithOIDC, RefreshToken, Session } from 'oidc-provider';
import { CONSOLE_CLIENT, CONSOLE_SESSION_S } from '../clients/console-client.ts';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export const ACCESS_TOKEN = HOUR;
/** After this time without an authorization request, the user must log in again. */
const SESSION_IDLE = 7 * DAY;
/** After this time the user must log in again, however often the session was used. */
const SESSION_ABSOLUTE = 14 * DAY;
/** For a browser in which nobody has logged in yet. */
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

/** That of the console never leaves this service, and ends with the login in the browser. */
function accessTokenLifetime(_ctx: KoaContextWithOIDC, _token: AccessToken, client: Client): number {
  return client.clientId === CONSOLE_CLIENT ? CONSOLE_SESSION_S : ACCESS_TOKEN;
}

/** The library asks at each use. */
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

/**
 * The time of the sign-in in access tokens of people: the claim `auth_time` of RFC 9470 section 6, which introspection
 * shows too. The API reads it to tell a person who has just signed in from a holder of an old token.
 *
 * Guarantee: it is the time when the user proved who they are. A login that was still valid and a refresh token keep
 * the old time.
 */
import type { KoaContextWithOIDC } from 'oidc-provider';

/** Undefined for tokens of programs. */
export function signInTime(ctx: KoaContextWithOIDC): { auth_time: number } | undefined {
  const { AuthorizationCode, DeviceCode, RefreshToken } = ctx.oidc.entities;
  const authTime = (AuthorizationCode ?? DeviceCode ?? RefreshToken)?.authTime;
  return authTime === undefined ? undefined : { auth_time: authTime };
}

/**
 * Maps users to the protocol library's accounts. Users are read on every request, and only active users are accounts,
 * so a deactivated user's refresh tokens, sessions and userinfo end with the next call.
 *
 * Guarantee: `auth_time` of an access token is the time when the person proved who they are. A login that was still
 * valid and a refresh token keep the old time.
 */
import type { Account, AccountClaims, KoaContextWithOIDC } from 'oidc-provider';
import type { Db } from '../../db/pool.ts';
import { GENDERS, isEmailAddress } from '../../fields/fields.ts';
import { loginNames } from '../../users/login-names.ts';
import { findUser, type User } from '../../users/store.ts';

/** The account, if the user exists and is active. */
export async function findAccount(db: Db, userId: string): Promise<Account | undefined> {
  const user = await findUser(db, userId);
  if (user?.state !== 'active') return undefined;
  return { accountId: user.id, claims: () => claimsOf(user) };
}

/** Standard claims of OpenID Connect Core 1.0 section 5.1; values that a user does not have are omitted. */
function claimsOf(user: User): AccountClaims {
  return {
    sub: user.id,
    name: (user.kind === 'human' ? user.displayName : user.machineName) || user.userName,
    ...given({ given_name: user.givenName, family_name: user.familyName, nickname: user.nickName }),
    preferred_username: isEmailAddress(user.userName) ? user.userName : loginNames(user)[0],
    ...given({ locale: user.preferredLanguage, gender: genderOf(user) }),
    updated_at: Math.floor(user.changedAt.getTime() / 1000),
    ...(user.email ? { email: user.email, email_verified: user.emailVerified } : {}),
    ...(user.phone ? { phone_number: user.phone, phone_number_verified: user.phoneVerified } : {}),
    'urn:service:iam:user:resourceowner:id': user.orgId,
  };
}

function given(claims: Record<string, string | null | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(claims).filter((entry): entry is [string, string] => Boolean(entry[1])));
}

/** Turns `GENDER_FEMALE` into `female`, the form of section 5.1. */
function genderOf(user: User): string | undefined {
  const name = GENDERS[user.gender];
  return name === undefined || name === 'GENDER_UNSPECIFIED' ? undefined : name.slice('GENDER_'.length).toLowerCase();
}

/**
 * The time of the sign-in, for the access token of a person (RFC 9470 section 6); introspection shows it too. The API
 * reads it to tell a person who has just signed in from a holder of an old token. Undefined for tokens of programs.
 */
export function signInTime(ctx: KoaContextWithOIDC): { auth_time: number } | undefined {
  const { AuthorizationCode, DeviceCode, RefreshToken } = ctx.oidc.entities;
  const authTime = (AuthorizationCode ?? DeviceCode ?? RefreshToken)?.authTime;
  return authTime === undefined ? undefined : { auth_time: authTime };
}

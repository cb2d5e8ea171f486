/**
 * Access tokens of machine users: granted for a signed assertion (RFC 7523 section 3), issued as opaque tokens or as
 * JWTs of RFC 9068, and personal access tokens, which resource servers can introspect like any other (RFC 7662).
 *
 * Guarantee: an assertion that does not come from an active machine user with a valid key is refused with
 * `invalid_grant`. The error names problems of the assertion's own content; an unknown or expired key, another user's
 * key, a bad signature and an inactive user all give the same error. An assertion may be reused until it expires, as
 * published clients do; so it may live at most an hour. A JWT is stored like an opaque token, so it can be introspected
 * and revoked, and it ends at once with its user. Resource servers that do not call us verify it with the published
 * keys.
 */
import {
  decodeProtectedHeader,
  importJWK,
  type JWK,
  type JWTPayload,
  errors as joseErrors,
  jwtVerify,
  SignJWT,
} from 'jose';
import {
  type AccessToken,
  type AdapterPayload,
  type Client,
  errors,
  type Provider,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import { API_SCOPE } from '../../contract/own-clients.ts';
import { ACCESS_TOKEN_TYPES } from '../../contract/users.ts';
import { findUser, stateNow, type User } from '../../directory/users/store.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { PersonalAccessTokens } from '../../platform/db/tables.ts';
import { idProblem } from '../../platform/fields.ts';
import { tokenHash } from '../../platform/ids.ts';
import { findKey, type VerificationKey } from '../machines/keys.ts';
import { SERVICE_USER_CLIENT } from './client-adapter.ts';
import { ACCESS_TOKEN, jwtHandle } from './tokens.ts';

/** The longest life of an assertion, in seconds. */
const MAX_AGE = 3600;
const CLOCK_TOLERANCE = 30;

/**
 * The user who signed the assertion.
 * @param audiences the assertion must name one of them: the issuer or the token endpoint
 * @throws OIDCProviderError `invalid_grant`
 */
export async function checkAssertion(db: Db, assertion: string, audiences: string[]): Promise<User> {
  const key = await keyOf(db, assertion);
  if (!key) throw refused();
  const claims = await verified(assertion, key, audiences);
  checkLifetime(claims);
  const user = await findUser(db, key.userId);
  if (user?.kind !== 'machine' || stateNow(user) !== 'active') throw refused();
  return user;
}

async function keyOf(db: Db, assertion: string): Promise<VerificationKey | undefined> {
  let kid: unknown;
  try {
    ({ kid } = decodeProtectedHeader(assertion));
  } catch {
    throw wrong('is not a JWT');
  }
  if (typeof kid !== 'string' || idProblem(kid)) throw wrong('must name its key in the header "kid"');
  const key = await findKey(db, kid);
  return key && (key.expiresAt === null || key.expiresAt.getTime() > Date.now()) ? key : undefined;
}

async function verified(assertion: string, key: VerificationKey, audience: string[]): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(assertion, await importJWK(key.publicJwk, 'RS256'), {
      algorithms: ['RS256'],
      audience,
      issuer: key.userId,
      subject: key.userId,
      requiredClaims: ['exp'],
      clockTolerance: CLOCK_TOLERANCE,
    });
    return payload;
  } catch (error) {
    throw explained(error);
  }
}

/** An issuer or subject other than the key's owner gives the same error as a bad signature. */
function explained(error: unknown): Error {
  if (error instanceof joseErrors.JWTExpired) return wrong('has expired');
  if (error instanceof joseErrors.JOSEAlgNotAllowed) return wrong('must be signed with RS256');
  if (!(error instanceof joseErrors.JWTClaimValidationFailed)) return refused(error);
  if (error.claim === 'aud') return wrong('must name the issuer or the token endpoint as "aud"');
  if (error.claim === 'exp') return wrong('must have an "exp"');
  if (error.claim === 'nbf') return wrong('is not valid yet');
  return refused(error);
}

function checkLifetime({ exp = 0, iat }: JWTPayload): void {
  const now = Date.now() / 1000;
  if (exp > now + MAX_AGE + CLOCK_TOLERANCE) throw wrong('must expire within an hour');
  if (iat === undefined) return;
  if (iat > now + CLOCK_TOLERANCE) throw wrong('was issued in the future');
  if (iat < now - MAX_AGE - CLOCK_TOLERANCE) throw wrong('was issued more than an hour ago');
}

function wrong(what: string): Error {
  return new errors.CustomOIDCProviderError('invalid_grant', `The assertion ${what}.`);
}

function refused(cause?: unknown): Error {
  return new errors.InvalidGrant(cause instanceof Error ? cause.message : 'no such key, or its user is not active');
}

/** The machine user that gets a token: a JWT if its `accessTokenType` says so. */
export interface Machine {
  userId: string;
  /** Index into ACCESS_TOKEN_TYPES. */
  accessTokenType: number;
}

/**
 * Answers a token request with an access token for the machine user.
 * @param of `scope`: the granted scopes; `signingKey`: the private JWK for a JWT
 */
export async function issueMachineToken(
  ctx: TokenEndpointGrantContext,
  machine: Machine,
  of: { scope: Set<string>; grantType: string; signingKey: JWK },
): Promise<void> {
  const { provider, client } = ctx.oidc;
  const grantId = await saveGrant(provider, client, machine.userId, of.scope);
  const scope = [...of.scope].join(' ') || undefined;
  const token = new provider.AccessToken({
    accountId: machine.userId,
    client,
    grantId: grantId as string,
    gty: of.grantType,
    ...(scope ? { scope } : {}),
  });
  token.iat = Math.floor(Date.now() / 1000);
  token.exp = token.iat + ACCESS_TOKEN;
  ctx.oidc.entity('AccessToken', token);
  const isJwt = ACCESS_TOKEN_TYPES[machine.accessTokenType] === 'ACCESS_TOKEN_TYPE_JWT';
  const value = isJwt ? await saveAsJwt(token, ctx, of.signingKey) : await token.save();
  ctx.body = { access_token: value, expires_in: ACCESS_TOKEN, token_type: token.tokenType, scope };
}

/** Userinfo requires a grant behind a token. Without `openid` there is no userinfo, and the token needs no grant. */
async function saveGrant(
  provider: Provider,
  client: Client,
  userId: string,
  scope: Set<string>,
): Promise<string | undefined> {
  if (!scope.has('openid')) return undefined;
  const grant = new provider.Grant({ accountId: userId, clientId: client.clientId });
  grant.addOIDCScope(scope);
  grant.exp = Math.floor(Date.now() / 1000) + ACCESS_TOKEN;
  return grant.save();
}

async function saveAsJwt(token: AccessToken, ctx: TokenEndpointGrantContext, key: JWK): Promise<string> {
  const { issuer } = ctx.oidc;
  const jwt = await signedToken(token, { issuer, audience: issuer, key });
  token.jti = jwtHandle(jwt);
  await token.save();
  return jwt;
}

/**
 * An access token as a JWT of RFC 9068, with further claims. It gets an id of its own; the library stores the token as
 * an opaque one under the handle of the JWT.
 */
export async function signedToken(
  token: AccessToken,
  { issuer, audience, key }: { issuer: string; audience: string; key: JWK },
  claims: Record<string, unknown> = {},
): Promise<string> {
  const id = (token as AccessToken & { generateTokenId(): string }).generateTokenId();
  return new SignJWT({ ...claims, client_id: token.clientId, scope: token.scope, jti: id })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.kid as string })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(token.accountId)
    .setIssuedAt(token.iat)
    .setExpirationTime(token.exp as number)
    .sign(await importJWK(key, 'RS256'));
}

/** The grant type (`gty`) that marks these tokens in the library. */
export const PAT = 'personal_access_token';

interface PatRow extends Named<PersonalAccessTokens, { userId: 'user_id' }> {
  /** Seconds since 1970. */
  iat: number;
  exp: number | null;
}

/** A personal access token in the form of an access token of the library, if it is valid and its user is active. */
export async function findPatToken(db: Db, token: string): Promise<AdapterPayload | undefined> {
  const { rows } = await db.query<PatRow>(
    `select t.user_id as "userId", floor(extract(epoch from t.created_at))::float8 as iat,
       floor(extract(epoch from t.expires_at))::float8 as exp
     from personal_access_tokens t join users u on u.id = t.user_id
     where t.token_hash = $1 and (t.expires_at is null or t.expires_at > now()) and u.state = 'active'
       and org_is_active(u.org_id)`,
    [tokenHash(token)],
  );
  const row = rows[0];
  if (!row) return undefined;
  return {
    kind: 'AccessToken',
    jti: token,
    gty: PAT,
    accountId: row.userId,
    clientId: SERVICE_USER_CLIENT,
    scope: API_SCOPE,
    iat: row.iat,
    ...(row.exp === null ? {} : { exp: row.exp }),
  };
}

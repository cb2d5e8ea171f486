/**
 * Issues access tokens of machine users: opaque, or JWTs of RFC 9068 if their `accessTokenType` says so.
 *
 * Guarantee: a JWT is stored like an opaque token, so it can be introspected and revoked, and it ends at once with its
 * user. Resource servers that do not call us verify it with the published keys.
 */
import { importJWK, type JWK, SignJWT } from 'jose';
import type { AccessToken, Client, Provider, TokenEndpointGrantContext } from 'oidc-provider';
import { ACCESS_TOKEN_TYPES } from '../../../users/view.ts';
import { ACCESS_TOKEN } from '../lifetimes.ts';
import { jwtHandle } from '../token-key.ts';

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
  // Also makes the library treat the token as opaque, so that it stores it.
  const id = (token as AccessToken & { generateTokenId(): string }).generateTokenId();
  const jwt = await new SignJWT({ client_id: token.clientId, scope: token.scope, jti: id })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: key.kid as string })
    .setIssuer(ctx.oidc.issuer)
    .setAudience(ctx.oidc.issuer)
    .setSubject(token.accountId)
    .setIssuedAt(token.iat)
    .setExpirationTime(token.exp as number)
    .sign(await importJWK(key, 'RS256'));
  token.jti = jwtHandle(jwt);
  await token.save();
  return jwt;
}

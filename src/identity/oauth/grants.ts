/** The grant types of machine users and of clients that act for themselves; those of people are the library's own. */
import type { JWK } from 'jose';
import { errors, type Provider, type TokenEndpointGrantContext } from 'oidc-provider';
import type { Db } from '../../db/pool.ts';
import { ACCESS_TOKEN_TYPE, JWT_BEARER } from './clients.ts';
import { ACCESS_TOKEN } from './lifetimes.ts';
import { checkAssertion } from './machine/assertion.ts';
import { issueMachineToken } from './machine/machine-token.ts';
import { CLIENT_SCOPES, MACHINE_SCOPES } from './scopes.ts';

/** Adds the grants to a provider. */
export function addGrants(provider: Provider, deps: { db: Db; signingKey: JWK }): void {
  provider.registerGrantType(
    JWT_BEARER,
    (ctx: TokenEndpointGrantContext<{ assertion?: string }>) => jwtBearer(ctx, deps),
    ['assertion', 'scope'],
  );
  provider.registerGrantType('client_credentials', (ctx) => clientCredentials(ctx, deps), ['scope']);
}

type Deps = Parameters<typeof addGrants>[1];

/** RFC 7523 section 2.1 */
async function jwtBearer(ctx: TokenEndpointGrantContext<{ assertion?: string }>, deps: Deps): Promise<void> {
  const { provider, params, issuer } = ctx.oidc;
  if (!params.assertion) throw new errors.InvalidRequest("missing required parameter 'assertion'");
  const scope = scopeOf(ctx, MACHINE_SCOPES);
  const user = await checkAssertion(deps.db, params.assertion, [issuer, provider.urlFor('token')]);
  const machine = { userId: user.id, accessTokenType: user.accessTokenType };
  await issueMachineToken(ctx, machine, { ...deps, scope, grantType: JWT_BEARER });
}

/** RFC 6749 section 4.4: a machine user gets its own token, a registered client one without a user. */
async function clientCredentials(ctx: TokenEndpointGrantContext, deps: Deps): Promise<void> {
  const { provider, client } = ctx.oidc;
  const accessTokenType = client[ACCESS_TOKEN_TYPE];
  if (typeof accessTokenType === 'number') {
    const scope = scopeOf(ctx, MACHINE_SCOPES);
    const machine = { userId: client.clientId, accessTokenType };
    return issueMachineToken(ctx, machine, { ...deps, scope, grantType: 'client_credentials' });
  }
  const own = client.scope?.split(' ');
  const allowed = own ? new Set(own.filter((scope) => CLIENT_SCOPES.has(scope))) : CLIENT_SCOPES;
  const scope = [...scopeOf(ctx, allowed)].join(' ') || undefined;
  const token = new provider.ClientCredentials({ client, scope });
  ctx.oidc.entity('ClientCredentials', token);
  const value = await token.save();
  ctx.body = { access_token: value, expires_in: ACCESS_TOKEN, token_type: token.tokenType, scope };
}

/**
 * The requested scopes; none is allowed, but such a token is of little use.
 * @throws OIDCProviderError `invalid_scope`, naming the scopes that are not allowed
 */
function scopeOf(ctx: TokenEndpointGrantContext, allowed: ReadonlySet<string>): Set<string> {
  const asked = ctx.oidc.requestParamScopes;
  const refused = [...asked].filter((scope) => !allowed.has(scope)).join(' ');
  if (refused) throw new errors.InvalidScope('requested scope is unknown or not allowed with this grant type', refused);
  return asked;
}

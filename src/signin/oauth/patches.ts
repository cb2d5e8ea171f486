/**
 * Patches of oidc-provider 9.13, where its settings do not suffice. Each names the test that fails when the library
 * changes there.
 */
import { createHmac } from 'node:crypto';
import { decodeProtectedHeader, type JWK } from 'jose';
import Provider, { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { requireKnownScope, withoutAlias } from '../../contract/clients.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { keepHint, keepNamedOrganization, signInTime } from './account.ts';
import { clientClaims, OWN } from './claims.ts';
import { ACCESS_TOKEN_FORMAT, JWT_BEARER, SERVICE_USER_CLIENT, secretMatches } from './client-adapter.ts';
import { signedToken } from './machine-tokens.ts';
import { isRowHandle, jwtHandle } from './tokens.ts';

/**
 * Patches `compareClientSecret` of clients: compares a secret with the stored SHA-256. The library expects to know the
 * secret in clear, and has no setting for another comparison. `test/signin/oauth/machine.test.ts` and
 * `test/signin/oauth/code.test.ts` fail when the library no longer calls it.
 */
export function compareStoredSecrets(provider: Provider): void {
  provider.Client.prototype.compareClientSecret = function compareClientSecret(shown: string) {
    return secretMatches(this.clientSecret, shown);
  };
}

/**
 * Patches `result` of claims: adds the claims that the client reads beside the standard ones. The library knows the names
 * of all claims when it is set up, and has no claims of one client. `test/signin/oauth/claims.test.ts` fails when the
 * library no longer calls it.
 */
export function addClientClaims(provider: Provider): void {
  const { prototype } = (provider as unknown as { Claims: { prototype: ClaimsMask } }).Claims;
  const { result } = prototype;
  prototype.result = async function withOwn(this: ClaimsMask) {
    const claims = await result.call(this);
    return { ...claims, ...this.available[OWN] };
  };
}

interface ClaimsMask {
  available: { [OWN]?: Record<string, unknown> };
  result(): Promise<Record<string, unknown>>;
}

/**
 * Patches `save` of access tokens: the token of a user is a JWT (RFC 9068) where the client says so, and is stored under
 * its handle, like that of a machine user. The library makes JWTs only for resource servers that a request names.
 * `test/signin/oauth/claims.test.ts` fails when the library no longer calls it.
 */
export function signAccessTokens(provider: Provider, { db, signingKey }: { db: Db; signingKey: JWK }): void {
  const prototype = provider.AccessToken.prototype as InstanceType<Provider['AccessToken']>;
  const { save } = prototype;
  prototype.save = async function saveAsJwt(this: InstanceType<Provider['AccessToken']>, ...args) {
    const { client } = this;
    if (this.jti || client?.[ACCESS_TOKEN_FORMAT] !== 'jwt') return save.apply(this, args);
    const claims = await clientClaims(db, this.accountId, { client, place: 'access_token' });
    this.iat = Math.floor(Date.now() / 1000);
    this.exp = this.iat + this.expiration;
    const ctx = Provider.ctx;
    const of = { issuer: provider.issuer, audience: client.clientId, key: signingKey };
    const jwt = await signedToken(this, of, { ...claims, ...(ctx ? signInTime(ctx) : {}) });
    this.jti = jwtHandle(jwt);
    await save.apply(this, args);
    return jwt;
  };
}

/**
 * Patches the Koa application: takes scheme, host and path from the issuer. Behind a proxy, scheme, host and path of
 * a request may differ from the public ones; the library's own setting would trust headers of the request.
 * `test/signin/oauth/issuer.test.ts` fails when the library reads them elsewhere.
 */
export function useIssuerAddress(provider: Provider): void {
  const { protocol, host, pathname } = new URL(provider.issuer);
  Object.defineProperties(provider.request, {
    protocol: { get: () => protocol.slice(0, -1) },
    host: { get: () => host },
  });
  Object.assign(provider.context, { mountPath: pathname === '/' ? '' : pathname });
}

/**
 * Patches `save` of sessions: stores the new row before it removes the old one. A login gives its session a new id, and
 * the library removes the old row first; in between, a token of the session would be refused.
 * `test/signin/oauth/refresh.test.ts` fails when the library keeps the old id elsewhere.
 */
export function storeBeforeRemoving(provider: Provider): void {
  const { prototype } = provider.Session;
  const { save } = prototype;
  prototype.save = async function saveFirst(this: InstanceType<Provider['Session']> & { oldId?: string }, ttl) {
    const { oldId } = this;
    delete this.oldId;
    const id = await save.call(this, ttl);
    if (oldId) await this.adapter.destroy(oldId);
    return id;
  };
}

/**
 * Patches `generateTokenId` of refresh tokens: the token that replaces a rotated one is computed from it with a key of
 * the service, so that two requests with the same token get the same successor.
 *
 * This makes the grace period of `adapter.ts` safe: two tabs that refresh at once go on with one token, there is never
 * a second line of tokens, and a stolen token is still detected when both holders go on (RFC 9700 section 4.14.2).
 * `test/signin/oauth/refresh.test.ts` fails when the library no longer calls it.
 */
export function deriveSuccessors(provider: Provider, secrets: Secrets): void {
  const key = secrets.key('refresh-successor');
  const prototype = provider.RefreshToken.prototype as unknown as { generateTokenId(): string };
  const { generateTokenId } = prototype;
  prototype.generateTokenId = function successor() {
    const rotated = Provider.ctx?.oidc.entities.RotatedRefreshToken as Token | undefined;
    return rotated ? createHmac('sha256', key).update(rotated.jti).digest('base64url') : generateTokenId.call(this);
  };
}

interface Token {
  jti: string;
}

/**
 * Adapts request parameters after the library has read them and before it uses them.
 *
 * - The library requires a client before it processes a grant. A signed assertion identifies the caller without client
 *   authentication (RFC 7523 section 2.1): such a request gets the client `SERVICE_USER_CLIENT`.
 * - The library refuses to introspect and revoke JWTs, as it does not store them. We store ours like all tokens, so it
 *   gets their handle.
 * - The library grants `offline_access` only with `prompt=consent`. The instance's owner registers our clients, which
 *   counts as consent (OpenID Connect Core 1.0 section 11, "other conditions").
 * - The library drops scopes that it does not know. A scope that names an organization, by its id or its primary
 *   domain, is kept as a parameter.
 * - Of the names for the parameter that leads to an external provider, one is kept, if it is short.
 * - A row handle is our internal name of a device code and must not come from a client: it is removed from the request.
 * - Applications written for ZITADEL request the scope of its API: it gets our name.
 * - The library stores what a request says, of whatever length, until the user has signed in: it may say MOST_BYTES.
 * - The library refuses a device request without a known scope only when the device fetches its token, after the user
 *   has approved it. Once its client is known, we refuse it.
 *
 * If the library ever stops reading its context's `params` from the prototype, the tests of these cases fail.
 */
export function adaptParams(provider: Provider): void {
  const { OIDCContext } = provider as Provider & { OIDCContext: { prototype: object } };
  const kept = new WeakMap<object, Params>();
  Object.defineProperty(OIDCContext.prototype, 'params', {
    get(this: Context) {
      return kept.get(this);
    },
    set(this: Context, params: Params) {
      adapt(this, params);
      kept.set(this, params);
    },
  });
}

type Params = Record<string, string | string[] | undefined>;

interface Context {
  ctx: KoaContextWithOIDC;
  route: string;
  /** Set once the client is authenticated; the library reads the parameters before and after that. */
  client?: object;
}

/** Of all parameters of a request together that are stored for callers whom nobody knows. */
const MOST_BYTES = 4096;
/** Routes at which parameters are stored. */
const STORING: ReadonlySet<string> = new Set(['authorization', 'device_authorization', 'end_session']);

/** @throws OIDCProviderError `invalid_request`, which is not redirected, as the application has made an error */
function requireShort({ id_token_hint: hint, ...params }: Params, route: string): void {
  // The hint of a sign-out is not stored.
  const values = [...Object.values(params), route === 'end_session' ? undefined : hint].flat();
  const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(String(value ?? '')), 0);
  if (bytes <= MOST_BYTES) return;
  const error = new errors.InvalidRequest(`the parameters must have at most ${MOST_BYTES} bytes together`);
  throw Object.assign(error, { allow_redirect: false });
}

function adapt({ ctx, route, client }: Context, params: Params): void {
  if (STORING.has(route)) requireShort(params, route);
  if (typeof params.scope === 'string') params.scope = withoutAlias(params.scope);
  if (route === 'token') adaptGrant(ctx, params);
  else if (route === 'introspection' || route === 'revocation') hideJwt(params);
  else if (route === 'device_authorization' && client) requireKnownScope(params.scope);
  else if (route === 'authorization') {
    consent(params);
    keepNamedOrganization(params);
    keepHint(params);
  }
}

function adaptGrant(ctx: KoaContextWithOIDC, params: Params): void {
  nameServiceUser(ctx, params);
  const { device_code: code } = params;
  if (typeof code === 'string' && isRowHandle(code)) params.device_code = undefined;
}

function nameServiceUser(ctx: KoaContextWithOIDC, params: Params): void {
  const isAuthenticated = ctx.headers.authorization !== undefined || params.client_secret !== undefined;
  if (params.grant_type === JWT_BEARER && !isAuthenticated) params.client_id = SERVICE_USER_CLIENT;
}

function hideJwt(params: Params): void {
  if (typeof params.token === 'string' && isRefused(params.token)) params.token = jwtHandle(params.token);
}

/** Whether the library refuses the token: anything whose first part decodes as a JWT header. */
function isRefused(token: string): boolean {
  try {
    return Boolean(decodeProtectedHeader(token));
  } catch {
    return false;
  }
}

function consent(params: Params): void {
  const { scope, prompt } = params;
  if (typeof scope !== 'string' || !scope.split(' ').includes('offline_access') || Array.isArray(prompt)) return;
  const prompts = new Set(prompt?.split(' '));
  if (!prompts.has('none')) params.prompt = [...prompts.add('consent')].join(' ');
}

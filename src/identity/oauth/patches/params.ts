/**
 * Adapts request parameters before the protocol library reads them.
 *
 * - The library requires a client before it processes a grant. A signed assertion identifies the caller without client
 *   authentication (RFC 7523 section 2.1): such a request gets the client `SERVICE_USER_CLIENT`.
 * - The library refuses to introspect and revoke JWTs, as it does not store them. We store ours like all tokens, so it
 *   gets their handle.
 * - The library grants `offline_access` only with `prompt=consent`. The instance's owner registers our clients, which
 *   counts as consent (OpenID Connect Core 1.0 section 11, "other conditions").
 * - The library drops scopes that it does not know. One that names an organization is kept as a parameter.
 * - A row handle is our internal name of a device code and must not come from a client: it is removed from the request.
 * - Applications written for ZITADEL request the scope of its API: it gets our name.
 * - The library refuses a device request without a known scope only when the device fetches its token, after the user
 *   has approved it. Once its client is known, we refuse it.
 *
 * If the library ever stops reading its context's `params` from the prototype, the tests of these cases fail.
 */
import { decodeProtectedHeader } from 'jose';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { JWT_BEARER, SERVICE_USER_CLIENT } from '../clients.ts';
import { keepNamedOrganization } from '../named-organization.ts';
import { requireKnownScope, withoutAlias } from '../scopes.ts';
import { isRowHandle, jwtHandle } from '../token-key.ts';

type Params = Record<string, string | string[] | undefined>;

interface Context {
  ctx: KoaContextWithOIDC;
  route: string;
  /** Set once the client is authenticated; the library reads the parameters before and after that. */
  client?: object;
}

/** Intercepts the parameters after the library has read them and before it uses them. */
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

function adapt({ ctx, route, client }: Context, params: Params): void {
  if (typeof params.scope === 'string') params.scope = withoutAlias(params.scope);
  if (route === 'token') adaptGrant(ctx, params);
  else if (route === 'introspection' || route === 'revocation') hideJwt(params);
  else if (route === 'device_authorization' && client) requireKnownScope(params.scope);
  else if (route === 'authorization') {
    consent(params);
    keepNamedOrganization(params);
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

/** The same test as the library's: anything whose first part decodes as a JWT header. */
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

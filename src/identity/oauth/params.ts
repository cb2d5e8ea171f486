/**
 * What of a request the protocol library sees differently, before it looks.
 *
 * - It wants to know a client before it hears of a grant. A signed assertion shows who is asking by itself, without any
 *   client authentication (RFC 7523 section 2.1): such a request comes from `SERVICE_USER_CLIENT`.
 * - It refuses to introspect and to revoke JWTs, as it stores none. Ours are stored as all tokens are: it gets the handle.
 * - It grants `offline_access` only where the user was asked, with `prompt=consent`. Our clients are registered by the
 *   instance's owner and nobody is asked: the consent is there (OpenID Connect Core 1.0 section 11, "other conditions").
 * - A device code by its row is our own way to name one, and nobody's to show: the request has none then.
 *
 * If the library ever stops reading `params` of its context from the prototype, the tests of these four fail.
 */
import { decodeProtectedHeader } from 'jose';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { JWT_BEARER, SERVICE_USER_CLIENT } from './clients.ts';
import { isRowHandle, jwtHandle } from './token-key.ts';

type Params = Record<string, string | string[] | undefined>;

interface Context {
  ctx: KoaContextWithOIDC;
  route: string;
}

/** Puts itself between the library's reading of the parameters and everything that follows. */
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

function adapt({ ctx, route }: Context, params: Params): void {
  if (route === 'token') adaptGrant(ctx, params);
  else if (route === 'introspection' || route === 'revocation') hideJwt(params);
  else if (route === 'authorization') consent(params);
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

/** The very test of the library: anything whose first part reads as a header. */
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

/**
 * Patches oidc-provider 9.13: its Koa application takes scheme, host and path from the issuer. Behind a proxy, those of
 * a request may differ from the public ones; the library's own setting would trust headers of the request.
 * `test/identity/oauth/issuer.test.ts` fails when the library reads them elsewhere.
 */
import type Provider from 'oidc-provider';

export function useIssuerAddress(provider: Provider): void {
  const { protocol, host, pathname } = new URL(provider.issuer);
  Object.defineProperties(provider.request, {
    protocol: { get: () => protocol.slice(0, -1) },
    host: { get: () => host },
  });
  Object.assign(provider.context, { mountPath: pathname === '/' ? '' : pathname });
}

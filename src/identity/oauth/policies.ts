/** Who may look a token up, who may end it, and from which web pages the endpoints may be called. */
import { type AccessToken, type Client, type ClientCredentials, errors, type RefreshToken } from 'oidc-provider';
import { PAT } from './machine/pat-token.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

/**
 * A client with a secret is a resource server and may look any access token up; a refresh token, and everything else for
 * a client without a secret, only its own (RFC 7662 section 4).
 */
export function mayIntrospect(client: Client, token: Token): boolean {
  if (isOwn(client, token)) return true;
  return client.tokenEndpointAuthMethod !== 'none' && token.kind !== 'RefreshToken';
}

/**
 * Whoever a token was issued to (RFC 7009 section 2.1).
 * @throws OIDCProviderError for a client with a secret that has somebody else's token, and for personal access tokens
 */
export function mayRevoke(client: Client, token: Token): boolean {
  if ('gty' in token && token.gty === PAT) {
    throw new errors.UnsupportedTokenType('a personal access token is removed where it was made');
  }
  if (isOwn(client, token)) return true;
  // Without a secret anybody could ask, and would learn that the token is good.
  if (client.tokenEndpointAuthMethod === 'none') return false;
  throw new errors.InvalidRequest('the token was not issued to this client');
}

/** Issued to the client, or to the machine user that the client is. */
function isOwn(client: Client, token: Token): boolean {
  return token.clientId === client.clientId || ('accountId' in token && token.accountId === client.clientId);
}

/** Pages of applications that run in the browser: those that people are sent back to after a login. */
export function isBrowserClient(client: Client, origin: string): boolean {
  return (
    client.tokenEndpointAuthMethod === 'none' &&
    (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin)
  );
}

/** Which clients may introspect and revoke a token, and which web pages may call the endpoints. */
import { type AccessToken, type Client, type ClientCredentials, errors, type RefreshToken } from 'oidc-provider';
import { webOrigin } from '../clients/redirect-uri.ts';
import { PAT } from './machine/pat-token.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

/**
 * A client with a secret is a resource server and may introspect any access token. All clients may introspect their own
 * tokens; nobody may introspect other clients' refresh tokens (RFC 7662 section 4).
 */
export function mayIntrospect(client: Client, token: Token): boolean {
  if (isOwn(client, token)) return true;
  return client.tokenEndpointAuthMethod !== 'none' && token.kind !== 'RefreshToken';
}

/**
 * Only the client that a token was issued to may revoke it (RFC 7009 section 2.1).
 * @throws OIDCProviderError for another client's token if the client has a secret, and for personal access tokens
 */
export function mayRevoke(client: Client, token: Token): boolean {
  if ('gty' in token && token.gty === PAT) {
    throw new errors.UnsupportedTokenType(
      'personal access tokens cannot be revoked here: delete them through the management API',
    );
  }
  if (isOwn(client, token)) return true;
  // Without a secret, anybody could call this and learn that the token is valid.
  if (client.tokenEndpointAuthMethod === 'none') return false;
  throw new errors.InvalidRequest('the token was not issued to this client');
}

/** Whether the token was issued to the client, or to the machine user that the client represents. */
function isOwn(client: Client, token: Token): boolean {
  return token.clientId === client.clientId || ('accountId' in token && token.accountId === client.clientId);
}

/** Whether the client runs in the browser, at this origin: it has no secret, and a redirect URI of this origin. */
export function isBrowserClient(client: Client, origin: string): boolean {
  return (
    client.tokenEndpointAuthMethod === 'none' && (client.redirectUris ?? []).some((uri) => webOrigin(uri) === origin)
  );
}

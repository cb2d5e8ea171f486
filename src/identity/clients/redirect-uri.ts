/**
 * Where an application may have people sent back to: RFC 6749 section 3.1.2 (absolute, no fragment), RFC 8252 section 7
 * (a private-use scheme or a loopback address for native apps), https for everything else.
 */

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Characters of RFC 3986; a URL parser takes others too and repairs them, but what is registered is compared as it is. */
const URI = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
/** RFC 8252 section 7.1: the scheme is a domain name that its owner controls, turned round. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/i;
const WEB = /^https?:\/\//i;

/** What is wrong with a redirect URI, if anything. */
export function redirectUriProblem(uri: string): string | undefined {
  const parsed = URI.test(uri) ? URL.parse(uri) : null;
  if (!parsed || !(WEB.test(uri) || PRIVATE_USE.test(uri))) {
    return 'must be an absolute URI such as https://app.example.com/callback or com.example.app:/callback';
  }
  if (uri.includes('#')) return 'must not have a fragment';
  if (parsed.username !== '' || parsed.password !== '') return 'must not hold a user name or a password';
  if (parsed.protocol === 'http:' && !LOOPBACK_HOSTS.has(parsed.hostname)) {
    return 'must be https, unless it is on localhost, 127.0.0.1 or [::1]';
  }
  return undefined;
}

/** Whether the URI is of a native app: only such a one has a private-use scheme. */
export function isPrivateUse(uri: string): boolean {
  return PRIVATE_USE.test(uri);
}

/** https on this machine; a native app is not allowed that, as it has no certificate of its own. */
export function isHttpsLoopback(uri: string): boolean {
  const parsed = URL.parse(uri);
  return parsed?.protocol === 'https:' && LOOPBACK_HOSTS.has(parsed.hostname);
}

/**
 * `application_type` of OpenID Connect Dynamic Client Registration 1.0: `native` when a URI has a private-use scheme, or
 * when all redirect URIs are http on loopback, whose port is then free (RFC 8252 section 7.3). Else `web`.
 * @param uris as `redirectUriProblem` has let them through
 */
export function applicationType(redirectUris: string[], postLogoutRedirectUris: string[]): 'web' | 'native' {
  if ([...redirectUris, ...postLogoutRedirectUris].some(isPrivateUse)) return 'native';
  const http = redirectUris.filter((uri) => uri.toLowerCase().startsWith('http://'));
  const https = [...redirectUris, ...postLogoutRedirectUris].some(isHttpsLoopback);
  return redirectUris.length > 0 && http.length === redirectUris.length && !https ? 'native' : 'web';
}

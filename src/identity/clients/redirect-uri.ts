/**
 * Rules for redirect URIs: RFC 6749 section 3.1.2 (absolute, no fragment), RFC 8252 section 7 (a private-use scheme or
 * a loopback address for native apps), https for everything else.
 */

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Characters of RFC 3986. A URL parser accepts others and repairs them, but registered URIs are compared unchanged. */
const URI = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/;
/** RFC 8252 section 7.1: the scheme is a domain name under the owner's control, in reverse order. */
const PRIVATE_USE = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/i;
const WEB = /^https?:\/\//i;

/** What is wrong with a redirect URI; undefined if it is valid. */
export function redirectUriProblem(uri: string): string | undefined {
  const parsed = URI.test(uri) ? URL.parse(uri) : null;
  if (!parsed || !(WEB.test(uri) || PRIVATE_USE.test(uri))) {
    return 'must be an absolute URI such as https://app.example.com/callback or com.example.app:/callback';
  }
  if (uri.includes('#')) return 'must not have a fragment';
  if (parsed.username !== '' || parsed.password !== '') return 'must not contain a user name or a password';
  if (parsed.protocol === 'http:' && !LOOPBACK_HOSTS.has(parsed.hostname)) {
    return 'must be https, unless it is on localhost, 127.0.0.1 or [::1]';
  }
  return undefined;
}

/** Whether the URI belongs to a native app: only those have private-use schemes. */
export function isPrivateUse(uri: string): boolean {
  return PRIVATE_USE.test(uri);
}

/** The origin of the pages at this URI (`https://app.example.com`); undefined for the URI of a native app. */
export function webOrigin(uri: string): string | undefined {
  return WEB.test(uri) ? URL.parse(uri)?.origin : undefined;
}

/** Whether it is https on this machine. Native apps may not use that, as they have no certificate of their own. */
export function isHttpsLoopback(uri: string): boolean {
  const parsed = URL.parse(uri);
  return parsed?.protocol === 'https:' && LOOPBACK_HOSTS.has(parsed.hostname);
}

/**
 * `application_type` of OpenID Connect Dynamic Client Registration 1.0: `native` if a URI has a private-use scheme, or
 * if all redirect URIs are http on loopback, where any port is then allowed (RFC 8252 section 7.3). Else `web`.
 * Both lists must have passed `redirectUriProblem`.
 */
export function applicationType(redirectUris: string[], postLogoutRedirectUris: string[]): 'web' | 'native' {
  if ([...redirectUris, ...postLogoutRedirectUris].some(isPrivateUse)) return 'native';
  const http = redirectUris.filter((uri) => uri.toLowerCase().startsWith('http://'));
  const https = [...redirectUris, ...postLogoutRedirectUris].some(isHttpsLoopback);
  return redirectUris.length > 0 && http.length === redirectUris.length && !https ? 'native' : 'web';
}

/**
 * Whether any program on the user's device can receive what is sent to the URI (RFC 8252 section 8.6): a private-use
 * scheme, or http on loopback without a port, as native apps register it. With a port it is a developer's web application.
 */
export function isClaimable(uri: string): boolean {
  if (isPrivateUse(uri)) return true;
  const parsed = URL.parse(uri);
  return parsed?.protocol === 'http:' && parsed.port === '' && LOOPBACK_HOSTS.has(parsed.hostname);
}

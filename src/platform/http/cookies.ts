/**
 * The names and attributes of the cookies that the service sets itself.
 *
 * Guarantee: no script reads one, and other sites cannot send one with a request that changes something. Over https a
 * name has the prefix `__Host-`, so no sibling domain can plant such a cookie; if the public address has a path,
 * `__Secure-`, as `__Host-` needs the path `/` (RFC 6265bis section 4.1.3). Plain http, for development, has no prefix.
 */
import type { CookieOptions } from 'express';

/** @param baseUrl the public address @param name what the cookie is for, such as `session` */
export function cookieName(baseUrl: string, name: string): string {
  const { protocol, pathname } = new URL(baseUrl);
  const prefix = protocol === 'https:' ? (pathname === '/' ? '__Host-' : '__Secure-') : '';
  return `${prefix}muster_${name}`;
}

/** For `res.cookie`. @param baseUrl the public address */
export function cookieOptions(baseUrl: string): CookieOptions {
  const { protocol, pathname } = new URL(baseUrl);
  return { httpOnly: true, sameSite: 'lax', secure: protocol === 'https:', path: pathname };
}

/** The value of a cookie. @param header `Cookie`, whose values `res.cookie` has percent-encoded */
export function cookieValue(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (pair.slice(0, at).trim() !== name) continue;
    try {
      return decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      return undefined; // not a value of ours
    }
  }
  return undefined;
}

/**
 * The console's cookies.
 *
 * Guarantee: no script reads them, and other sites cannot send them with a request that changes something. Over https
 * they have the prefix `__Host-`, so no sibling domain can plant one; if the public address has a path, `__Secure-`,
 * as `__Host-` needs the path `/` (RFC 6265bis section 4.1.3). Plain http, for development, has no prefix.
 */
import type { CookieOptions, Request, Response } from 'express';

export interface Cookies {
  read(req: Request, name: CookieName): string | undefined;
  /** @param maxAgeS absent: until the browser closes */
  set(res: Response, name: CookieName, value: string, maxAgeS?: number): void;
  clear(res: Response, name: CookieName): void;
}

/** The session, a sign-in in progress, the input of a form that came after the session had ended, and what was just done. */
export type CookieName = 'console' | 'console_login' | 'console_form' | 'console_done';

/** @param baseUrl the public address */
export function openCookies(baseUrl: string): Cookies {
  const { protocol, pathname } = new URL(baseUrl);
  const isHttps = protocol === 'https:';
  const prefix = isHttps ? (pathname === '/' ? '__Host-' : '__Secure-') : '';
  const options: CookieOptions = { httpOnly: true, sameSite: 'lax', secure: isHttps, path: pathname };
  const nameOf = (name: CookieName) => `${prefix}muster_${name}`;
  return {
    read: (req, name) => cookieValue(req.get('cookie') ?? '', nameOf(name)),
    set(res, name, value, maxAgeS) {
      res.cookie(nameOf(name), value, { ...options, ...(maxAgeS ? { maxAge: maxAgeS * 1000 } : {}) });
    },
    clear: (res, name) => void res.clearCookie(nameOf(name), options),
  };
}

/** Values are base64url or sealed text, which `res.cookie` percent-encodes. */
function cookieValue(header: string, name: string): string | undefined {
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

/**
 * Refuses forms, and other requests that change something, that another site sends on behalf of its visitors
 * (cross-site request forgery).
 *
 * Guarantee: every browser says where a form comes from, in `Sec-Fetch-Site` or at least in `Origin` (Fetch standard),
 * very old ones in `Referer`. A form from elsewhere, including a sibling domain, is refused unread. A program that is not
 * a browser sends none of them, and holds nobody's cookies. The forms of a login also carry a token, those behind an
 * email's link its code.
 */
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../errors.ts';

/** @param baseUrl the public address */
export function sameOrigin(baseUrl: string): RequestHandler {
  const ours = new URL(baseUrl).origin;
  return (req, _res, next) => {
    requireOurs(req, ours);
    next();
  };
}

/** @throws ApiError 403 for a request that may change something and comes from another site */
export function requireOurs(req: Request, ours: string): void {
  if (READS.has(req.method) || isOurs(req, ours)) return;
  throw new ApiError('PERMISSION_DENIED', 'PAGE-ORIGIN', 'The form comes from another site.');
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

function isOurs(req: Request, ours: string): boolean {
  const fromOurs = (origin: string) => origin === ours || origin === `${req.protocol}://${req.get('host')}`;
  const site = req.get('sec-fetch-site');
  const origin = req.get('origin');
  if (site === 'same-origin') return true;
  // `none` is the person, not a page; nobody's page is also what `Origin: null` says.
  if (site === 'none') return origin === undefined || origin === 'null' || fromOurs(origin);
  if (site !== undefined) return false;
  if (origin !== undefined) return fromOurs(origin);
  // Browsers of before 2020 may say it in `Referer` only.
  const referer = req.get('referer');
  return referer === undefined || fromOurs(originOf(referer));
}

/** Empty if it is not a URL. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}

/**
 * Refuses forms, and other requests that change something, that another site sends on behalf of its visitors
 * (cross-site request forgery).
 *
 * Guarantee: every browser says where a form comes from, in `Sec-Fetch-Site` or at least in `Origin` (Fetch standard).
 * A form from elsewhere, including a sibling domain, is refused unread. A program that is not a browser sends neither
 * header, and holds nobody's cookies. The forms of a login also carry a token, those behind an email's link its code.
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
  const site = req.get('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const origin = req.get('origin');
  return origin === undefined || origin === ours || origin === `${req.protocol}://${req.get('host')}`;
}

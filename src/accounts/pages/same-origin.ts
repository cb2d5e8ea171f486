/**
 * Refuses forms that another site sends in the name of whoever looks at it (cross-site request forgery).
 *
 * Guarantee: every browser says where a form comes from, in `Sec-Fetch-Site` or at least in `Origin` (Fetch standard);
 * what says that it is from elsewhere, a sibling domain included, is not read any further. A program that is no browser
 * says nothing, and holds nobody's cookies. The forms of a log-in carry a token besides, the ones behind a mail's link
 * its code.
 */
import type { Request, RequestHandler } from 'express';
import { ApiError } from '../../errors.ts';

/** @param baseUrl the public address */
export function sameOrigin(baseUrl: string): RequestHandler {
  const ours = new URL(baseUrl).origin;
  return (req, _res, next) => {
    if (req.method === 'POST' && !isOurs(req, ours)) {
      throw new ApiError('PERMISSION_DENIED', 'PAGE-ORIGIN', 'The form comes from another site.');
    }
    next();
  };
}

function isOurs(req: Request, ours: string): boolean {
  const site = req.get('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  const origin = req.get('origin');
  return origin === undefined || origin === ours || origin === `${req.protocol}://${req.get('host')}`;
}

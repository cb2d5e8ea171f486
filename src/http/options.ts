/**
 * `OPTIONS`, with the methods of a path over all routers: Express lets the first router that knows the path answer, with its
 * own methods alone.
 */
import type { RequestHandler } from 'express';
import { pathOf } from './access-log.ts';
import { allowedMethods } from './allowed-methods.ts';

/** Mount it before the routers, and after those that have routes for `OPTIONS` themselves. */
export function answerOptions(routes: () => unknown): RequestHandler {
  return (req, res, next) => {
    const allowed = req.method === 'OPTIONS' ? allowedMethods(routes(), pathOf(req)) : [];
    if (allowed.length === 0) return next();
    res.set('Allow', allowed.join(', ')).status(204).end();
  };
}
